"""What user functions implement to keep state of their own in checkpoints, and to hear what becomes of checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from funke.engine.state.interfaces import KeyedStateStore, OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]


class FunctionSnapshotContext(ABC):
    """What `snapshot_state` can learn about the checkpoint."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the number of the checkpoint; later ones have larger numbers."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return the processing time in milliseconds at which the checkpoint began."""


class FunctionInitializationContext(ABC):
    """What `initialize_state` is given."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Tell whether the job starts from a checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Return the number of the checkpoint that the job starts from, None if it starts anew."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of state that belongs to the subtask."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys; it rejects on a stream without keys."""


class CheckpointedFunction(ABC):
    """A function with state that belongs to its subtasks; inherit from it beside MapFunction or the like.

    >>> class Buffering(FlatMapFunction, CheckpointedFunction):
    ...     def initialize_state(self, context):
    ...         descriptor = ListStateDescriptor("buffered", Types.INT())
    ...         self.checkpointed = context.get_operator_state_store().get_list_state(descriptor)
    ...         self.buffered = list(self.checkpointed.get())
    ...     def snapshot_state(self, context):
    ...         self.checkpointed.update(self.buffered)
    """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Bring the state up to date; called in every checkpoint, between two elements."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Create the state, or take up what a checkpoint holds; called once, before `open`."""


class ListCheckpointed(ABC):
    """The older way: a function that hands over its state as a list, whose elements are dealt out when rescaling."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """Return the state of this subtask."""

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Take the state back; called before `open`, and only when the job starts from a checkpoint."""


class CheckpointListener:
    """A function that wants to know what becomes of the checkpoints it took part in."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint is complete: the job will never go back behind it."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The checkpoint was given up; what it should have made sure of is left to the next one."""
