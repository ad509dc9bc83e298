"""The states of one piece, as functions that read them see them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Hashable, Iterator
from itertools import groupby
from typing import Any, cast

from funke.engine.jobs.checkpoints.savepoint_files import open_snapshot
from funke.engine.operators.operator import OperatorContext, Output, TaskInfo
from funke.engine.operators.runtime_context import StreamingRuntimeContext
from funke.engine.state.descriptors import StateDescriptor
from funke.engine.state.heap.backend import HashMapBackend
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state_processor.native_state import native_backend
from funke.engine.state_processor.state_parts import StatePiece, read_chunks
from funke.engine.state_processor.state_source import StateNames

__all__ = ["Keys", "PieceStates", "open_piece"]

# Stored keys by state and namespace.
Keys = dict[TableId, list[Any]]


class PieceStates:
    """Gives out handles for the current key, and knows keys and timers; what a reader changes is lost."""

    def __init__(self, piece: StatePiece, backend: KeyedBackend, names: StateNames) -> None:
        self._piece = piece
        self._backend = backend
        self._names = names
        self.asked_for: set[str] = set()
        self.event_timers: dict[Any, set[int]] = {}
        self.processing_timers: dict[Any, set[int]] = {}
        # All keys, where state is in memory.
        self._keys: Keys | None = None

    @property
    def current_key(self) -> Any:
        """The stored key that handles look at."""
        return self._backend.current_key

    @current_key.setter
    def current_key(self, key: Any) -> None:
        self._backend.current_key = key

    def get_state(self, descriptor: StateDescriptor, namespace: Hashable = None) -> Any:
        """The handle for a state; notes that it was asked for."""
        self.asked_for.add(descriptor.name)
        return self._backend.get_state(descriptor, namespace)

    def runtime_context(self) -> StreamingRuntimeContext:
        """The runtime context of the function that reads."""
        piece = self._piece
        task = TaskInfo(task_name="read state", subtask=piece.subtask, max_parallelism=piece.key_groups.max_parallelism)
        context = OperatorContext(task, "read state", piece.operator_id, Output())
        # It asks for state, and for nothing else.
        return StreamingRuntimeContext(context, cast(KeyedBackend, self))

    def key_batches(self) -> Iterator[Keys]:
        """All keys in batches; a key is in one batch only."""
        if self._keys is not None:
            yield self._keys
            return
        for _, chunks in groupby(self._backend.snapshot_parts(), key=lambda chunk: chunk[0]):
            batch: Keys = {}
            for _, part in chunks:
                self._note(part, batch)
            yield batch

    def load(self, parts: Iterator[tuple[int, GroupPart]]) -> None:
        """Takes state into memory."""
        self._keys = {}
        self._backend.restore(self._noted(parts, self._keys))

    def load_timers(self, parts: Iterator[tuple[int, GroupPart]]) -> None:
        """Takes timers; the state is in the backend already."""
        for _, part in parts:
            self._note(part, {})

    def _noted(self, parts: Iterator[tuple[int, GroupPart]], keys: Keys) -> Iterator[tuple[int, GroupPart]]:
        for group, part in parts:
            self._note(part, keys)
            yield group, part

    def _note(self, part: GroupPart, keys: Keys) -> None:
        for table_id, table in part.tables.items():
            self._names.found.add(table_id.name)
            keys.setdefault(table_id, []).extend(table)
        for time_ms, entry in part.event_timers:
            self.event_timers.setdefault(entry, set()).add(time_ms)
        for time_ms, entry in part.processing_timers:
            self.processing_timers.setdefault(entry, set()).add(time_ms)


@contextlib.contextmanager
def open_piece(piece: StatePiece, names: StateNames) -> Iterator[PieceStates]:
    """The states of a piece: in memory, or in RocksDB if that is how they are kept."""
    if piece.native:
        with native_backend(piece.native, piece.key_groups) as backend:
            states = PieceStates(piece, backend, names)
            with open_snapshot(piece.path, piece.inline) as reader:
                states.load_timers(reader.keyed(piece.operator_id))
            yield states
    else:
        states = PieceStates(piece, HashMapBackend(piece.key_groups, lambda: int(time.time() * 1000)), names)
        states.load(read_chunks(piece))
        yield states
