"""The operator state of the functions of one operator: calls them at checkpoints and keeps what they hand over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from funke.engine.state.interfaces import KeyedStateStore
from funke.engine.state.operator_state import HeapOperatorStateStore, OperatorStateSnapshot
from funke.engine.state.state_types import StateTypes

__all__ = ["FunctionStates"]

_LIST_CHECKPOINTED = "_list_checkpointed"


class FunctionStates:
    """Serves CheckpointedFunction, ListCheckpointed and CheckpointListener in an operator or a sink's writer."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        restored_checkpoint_id: int | None = None,
        keyed_store: KeyedStateStore | None = None,
    ) -> None:
        self.types = StateTypes()
        self.store = HeapOperatorStateStore(types=self.types)
        self._now_ms = now_ms
        self._restored_checkpoint_id = restored_checkpoint_id
        self._keyed_store = keyed_store
        self._checkpointed: list[CheckpointedFunction] = []
        self._list_checkpointed: list[tuple[str, ListCheckpointed]] = []
        self._listeners: list[CheckpointListener] = []

    def restore(self, state: OperatorStateSnapshot) -> None:
        """Takes back what `snapshot` gave, or this subtask's share of it; called before any function is initialised."""
        self.store = HeapOperatorStateStore(state, self.types)

    def initialize(self, function: Any) -> None:
        """Gives a function its state; called before its `open`."""
        if isinstance(function, CheckpointedFunction):
            self._checkpointed.append(function)
            function.initialize_state(
                _Initialization(self.store, self._is_restored, self._restored_checkpoint_id, self._keyed_store)
            )
        elif isinstance(function, ListCheckpointed):
            # By their order, which is the same whenever the operator is opened.
            name = f"{_LIST_CHECKPOINTED}-{len(self._list_checkpointed)}"
            self._list_checkpointed.append((name, function))
            if self._is_restored:
                function.restore_state(self.store.list_of(name).get())
        if isinstance(function, CheckpointListener):
            self._listeners.append(function)

    @property
    def _is_restored(self) -> bool:
        # Also for a function that the checkpoint has no state of: the question is about the job.
        return self.store.is_restored or self._restored_checkpoint_id is not None

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins: lets the functions bring their state up to date."""
        context = _Checkpoint(checkpoint_id, self._now_ms())
        for function in self._checkpointed:
            function.snapshot_state(context)
        for name, listed in self._list_checkpointed:
            elements = listed.snapshot_state(checkpoint_id, context.timestamp)
            self.store.list_of(name).update(elements or [])

    def snapshot(self) -> OperatorStateSnapshot | None:
        """Everything there is; None when no state was ever asked for."""
        return self.store.snapshot() if self.store.has_states else None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tells those who want to know."""
        for listener in self._listeners:
            listener.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tells those who want to know."""
        for listener in self._listeners:
            listener.notify_checkpoint_aborted(checkpoint_id)


class _Checkpoint(FunctionSnapshotContext):
    def __init__(self, checkpoint_id: int, timestamp: int) -> None:
        self.checkpoint_id = checkpoint_id
        self.timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        return self.checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self.timestamp


class _Initialization(FunctionInitializationContext):
    def __init__(
        self,
        store: HeapOperatorStateStore,
        is_restored: bool,
        checkpoint_id: int | None,
        keyed_store: KeyedStateStore | None,
    ) -> None:
        self._store = store
        self._is_restored = is_restored
        self._checkpoint_id = checkpoint_id
        self._keyed_store = keyed_store

    def is_restored(self) -> bool:
        return self._is_restored

    def get_restored_checkpoint_id(self) -> int | None:
        return self._checkpoint_id

    def get_operator_state_store(self) -> HeapOperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys."""
        if self._keyed_store is None:
            raise StateError(
                "keyed state is only accessible by functions executed on a KeyedStream; call key_by() first"
            )
        return self._keyed_store
