"""What driver and slots tell each other about checkpoints: take one, my part is written, it is complete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle
from funke.engine.state.snapshot.state_sizes import StateSize

__all__ = ["AlignmentStatistics", "CheckpointKind", "CheckpointNotifications", "CheckpointCommand", "SnapshotAck"]

# A final checkpoint holds no state: the input is read and only committing is left.
CheckpointKind = Literal["checkpoint", "savepoint", "final"]


@dataclass(frozen=True)
class CheckpointCommand:
    """Makes an epoch a checkpoint: every slot snapshots at its end and writes into `folder`."""

    checkpoint_id: int
    folder: str
    kind: CheckpointKind = "checkpoint"
    compress: bool = False
    # Files that never change may be written once and shared with later checkpoints.
    is_incremental: bool = False
    # State up to this size travels in the acknowledgement and needs no file.
    inline_bytes: int = 0
    buffer_bytes: int = 1 << 20
    # Barriers overtake what is on its way, which becomes part of the checkpoint.
    is_unaligned: bool = False
    # Else at least once: a barrier blocks no channel, and what follows it may be processed before the checkpoint.
    is_exactly_once: bool = True
    triggered_ms: int = 0


@dataclass(frozen=True)
class CheckpointNotifications:
    """Which checkpoints were completed and which were given up since the last notification."""

    completed: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()


@dataclass(frozen=True)
class AlignmentStatistics:
    """How the barriers of a checkpoint came to a subtask."""

    vertex_id: int
    subtask: int
    # From the checkpoint's start to the first barrier, and from that to the last.
    start_delay_ms: float
    duration_ms: float
    # What the subtask took from its channels in the latter time.
    processed_bytes: int


@dataclass(frozen=True)
class SnapshotAck:
    """A slot's part of a checkpoint is written, or could not be."""

    checkpoint_id: int
    slot: int
    handles: tuple[SnapshotHandle, ...] = ()
    failure: str | None = None
    # How long processing stood still, and how long the writing took beside it.
    stall_ms: float = 0.0
    write_ms: float = 0.0
    # What was written; the handles may also refer to files of earlier checkpoints.
    new_bytes: int = 0
    folder: str = ""
    # What it holds, by operator and name.
    states: tuple[StateSize, ...] = ()
    # How much of it was on its way between subtasks.
    in_flight_bytes: int = 0
    alignments: tuple[AlignmentStatistics, ...] = ()

    def shared_files(self) -> Iterator[NativeFile]:
        """Files that later checkpoints may refer to, with full paths."""
        for handle in self.handles:
            for file in handle.within(self.folder).native_files():
                if "/shared/" in file.path:
                    yield file
