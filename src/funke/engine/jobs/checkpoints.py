"""Checkpoints of a job: when one is due, what it holds, and where it is kept.

<folder>/<job id>/chk-7/_metadata     written last, by an atomic rename: the checkpoint is complete or not there
<folder>/<job id>/chk-7/<segment>-<subtask>-<attempt>
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import StateError
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.snapshot_files import SnapshotHandle, delete_folder, read_bytes, write_atomically

__all__ = ["Checkpoint", "CheckpointKeeper", "read_checkpoint"]

_MAGIC = b"FUNKE CHECKPOINT 1\n"


@dataclass(frozen=True)
class Checkpoint:
    """A consistent state of the whole job: after one epoch, before the next."""

    job_id: str
    checkpoint_id: int
    epoch: int
    snapshots: tuple[SnapshotHandle, ...]
    sources: dict[str, Any]
    # What sinks have prepared, by operator id: committed after this was written, and again after a restart.
    committables: dict[str, list[Any]]
    # The job has read all its input: only committing is left.
    is_final: bool = False


def read_checkpoint(path: str) -> Checkpoint:
    """Reads and verifies the metadata in a checkpoint's folder."""
    data = read_bytes(f"{path}/_metadata")
    head, checksum, content = data[: len(_MAGIC)], data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if head != _MAGIC or hashlib.sha256(content).digest() != checksum:
        raise StateError(f"the checkpoint '{path}' is damaged")
    found = decode(content)
    assert isinstance(found, Checkpoint)
    return found


@dataclass
class CheckpointKeeper:
    """Decides when to take checkpoints, writes them, and keeps the newest ones."""

    job_id: str
    interval_ms: int
    min_pause_ms: int
    folder: str
    is_temporary: bool
    retained: int
    is_kept_on_cancellation: bool
    is_kept_on_failure: bool
    completed: list[int] = field(default_factory=list)
    latest: Checkpoint | None = None
    _last_id: int = 0
    _last_started: float = field(default_factory=time.monotonic)
    _last_ended: float = 0.0

    @staticmethod
    def from_settings(job_id: str, settings: Settings) -> CheckpointKeeper | None:
        """The keeper that the job's settings ask for; None when checkpointing is off."""
        interval = settings.get(options.CHECKPOINTING_INTERVAL)
        if interval is None or interval.to_millis() <= 0:
            return None
        folder = settings.get(options.CHECKPOINTS_DIRECTORY)
        retention = str(settings.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)).upper()
        return CheckpointKeeper(
            job_id,
            interval.to_millis(),
            settings.get(options.CHECKPOINTING_MIN_PAUSE).to_millis(),
            folder.rstrip("/") if folder else tempfile.mkdtemp(prefix="funke-checkpoints-"),
            folder is None,
            max(1, settings.get(options.RETAINED_CHECKPOINTS)),
            "RETAIN" in retention,
            "NO_EXTERNALIZED" not in retention,
        )

    def next_folder(self) -> str | None:
        """Where the next epoch's checkpoint goes, if one is due."""
        now = time.monotonic()
        is_due = (now - self._last_started) * 1000 >= self.interval_ms
        if not is_due or (now - self._last_ended) * 1000 < self.min_pause_ms:
            return None
        return self.start()

    def start(self) -> str:
        """Begins a checkpoint; returns its folder."""
        self._last_started = time.monotonic()
        self._last_id += 1
        return self._folder_of(self._last_id)

    def _folder_of(self, checkpoint_id: int) -> str:
        return f"{self.folder}/{self.job_id}/chk-{checkpoint_id}"

    def complete(
        self,
        epoch: int,
        snapshots: tuple[SnapshotHandle, ...],
        sources: dict[str, Any],
        committables: dict[str, list[Any]],
        is_final: bool,
    ) -> None:
        """Writes the metadata of the checkpoint that was started last, and reads it back."""
        made = Checkpoint(self.job_id, self._last_id, epoch, snapshots, sources, committables, is_final)
        content = encode(made)
        path = self._folder_of(self._last_id)
        write_atomically(f"{path}/_metadata", _MAGIC + hashlib.sha256(content).digest() + content)
        self.latest = read_checkpoint(path)
        self.completed.append(self._last_id)
        self._last_ended = time.monotonic()
        for old in self.completed[: -self.retained]:
            delete_folder(self._folder_of(old))
        del self.completed[: -self.retained]

    def end(self, is_cancelled: bool, has_failed: bool) -> None:
        """Removes what nobody will need: everything after success, and as the retention says otherwise."""
        if self.is_temporary:
            delete_folder(self.folder)
        elif (is_cancelled and self.is_kept_on_cancellation) or (has_failed and self.is_kept_on_failure):
            sys.stderr.write(f"checkpoints are kept in {self.folder}/{self.job_id}\n")
        else:
            delete_folder(f"{self.folder}/{self.job_id}")
