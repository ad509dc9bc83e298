"""The state of an operator in pieces that are read in parallel, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_snapshot
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle
from funke.engine.sql.state.rows.native_rows import to_column_parts
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.state_processor.native_state import native_parts
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = [
    "PIECE_BYTES",
    "StatePiece",
    "keyed_pieces",
    "own_pieces",
    "piece_of",
    "pieces_of_file",
    "read_chunks",
    "read_own",
]

# What a reading task may hold in memory at once, as it stands in the file.
PIECE_BYTES = 16 << 20


@dataclass(frozen=True)
class StatePiece:
    """Some key groups of an operator in one snapshot, or, without key groups, its state that is not keyed."""

    path: str
    operator_id: str
    subtask: int
    key_groups: KeyGroups
    groups: tuple[int, ...] = ()
    # Files of RocksDB that hold the state of the key groups; then only timers stand in the snapshot file.
    native: tuple[NativeFile, ...] = ()
    # About how many bytes there are to read.
    size: int = 0
    # Whether it is the first of its operator: what all subtasks hold alike is read from there.
    is_first: bool = True
    # The snapshot, if it is inline.
    inline: bytes | None = None

    @property
    def is_keyed(self) -> bool:
        """Whether it holds keyed state."""
        return bool(self.groups or self.native)


def piece_of(handle: SnapshotHandle, operator_id: str, key_groups: KeyGroups, **further: Any) -> StatePiece:
    """A piece of a snapshot."""
    source = handle.path, operator_id, handle.subtask, key_groups
    return StatePiece(*source, inline=handle.inline, **further)


def keyed_pieces(savepoint: Savepoint, operator_id: str) -> list[StatePiece]:
    """The pieces of an operator's keyed state; none holds much more than a task can take."""
    key_groups = savepoint.key_groups(operator_id)
    return [
        piece
        for handle in savepoint.snapshots_of(operator_id)
        for piece in pieces_of_file(handle, operator_id, key_groups)
    ]


def own_pieces(savepoint: Savepoint, operator_id: str) -> list[StatePiece]:
    """One piece for every subtask of an operator."""
    key_groups = savepoint.key_groups(operator_id)
    return [
        piece_of(handle, operator_id, key_groups, is_first=number == 0)
        for number, handle in enumerate(savepoint.snapshots_of(operator_id))
    ]


def read_chunks(piece: StatePiece) -> Iterator[tuple[int, GroupPart]]:
    """The keyed state of a piece, chunk by chunk."""
    with open_snapshot(piece.path, piece.inline) as reader:
        yield from reader.keyed(piece.operator_id, None if piece.native else frozenset(piece.groups))
        own = reader.own(piece.operator_id) if piece.native else None
    if piece.native:
        marks = own.unions if isinstance(own, OperatorStateSnapshot) else {}
        for group, part in native_parts(piece.native, piece.key_groups):
            yield group, to_column_parts(part, marks)


def read_own(piece: StatePiece) -> Any:
    """The state of a subtask that is not keyed; None if it has none."""
    with open_snapshot(piece.path, piece.inline) as reader:
        return reader.own(piece.operator_id)


def pieces_of_file(handle: SnapshotHandle, operator_id: str, key_groups: KeyGroups) -> Iterator[StatePiece]:
    """The pieces of an operator's keyed state in one snapshot."""
    native = dict(handle.native).get(operator_id, ())
    if native:
        # RocksDB reads from the disk, so one piece may be as large as it likes.
        size = sum(file.size for file in native)
        yield piece_of(handle, operator_id, key_groups, native=native, size=size)
        return
    with open_snapshot(handle.path, handle.inline) as reader:
        groups = reader.key_groups(operator_id)
    if not groups:
        return
    # The file may hold other operators too, so its size is an upper bound.
    group_bytes = max(1, handle.size // len(groups))
    per_piece = max(1, PIECE_BYTES // group_bytes)
    for start in range(0, len(groups), per_piece):
        chosen = groups[start : start + per_piece]
        size = group_bytes * len(chosen)
        yield piece_of(handle, operator_id, key_groups, groups=chosen, size=size)
