"""The completed checkpoints of a job on disk: the newest are kept, and found again after a crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from funke.engine.config.flink_options import RECOVERY_ON_DAMAGE
from funke.engine.errors import StateError, StorageUnavailableError
from funke.engine.jobs.checkpoints.checkpoints import METADATA, Checkpoint, read_checkpoint, verify_files
from funke.engine.jobs.notices import notice
from funke.engine.runtime.snapshots.snapshot_files import (
    create_folder,
    delete_file,
    delete_folder,
    join_path,
    list_folder,
    local_path,
)

__all__ = ["CheckpointStore"]

_NAME = re.compile(r"chk-(\d+)")
_SHARED = "../shared/"


@dataclass
class CheckpointStore:
    """Folders `chk-<number>` below the job's folder, oldest first."""

    folder: str
    retained: int = 1
    completed: list[Checkpoint] = field(default_factory=list)
    # A checkpoint of another job, which this one starts from; it may delete it only if it has claimed it.
    origin: Checkpoint | None = None
    is_origin_claimed: bool = False
    # Whether a job that has no intact checkpoint left may begin from nothing, which a user has to allow.
    may_restart: bool = False
    # What is wrong with those that are newer than what `latest` has found, until a user has decided about it.
    losses: list[str] = field(default_factory=list)

    def make_folders(self) -> None:
        """Makes the folders beside the checkpoints: for files that several share, and for those that slots own.

        On other file systems they come with the first file.
        """
        for name in ("shared", "taskowned") if local_path(self.folder) is not None else ():
            create_folder(join_path(self.folder, name))

    def folder_of(self, checkpoint_id: int) -> str:
        """Where a checkpoint is kept."""
        return join_path(self.folder, f"chk-{checkpoint_id}")

    def add(self, checkpoint: Checkpoint) -> None:
        """Takes in a completed checkpoint; those that are not needed any more go."""
        self.completed.append(checkpoint)
        if self.origin is not None and self.is_origin_claimed and len(self.completed) >= self.retained:
            self._delete(self.origin)
            self.origin = None
        dropped = self.completed[: -self.retained]
        del self.completed[: -self.retained]
        for old in dropped:
            self._delete(old)

    def _delete(self, old: Checkpoint) -> None:
        # A checkpoint that is still being written loses nothing: what it shares, the newest complete one shares too.
        still_used = {path for kept in self.completed for path in _shared_files(kept)}
        for path in _shared_files(old) - still_used:
            delete_file(path)
        delete_folder(old.path)

    def sweep(self, check: Callable[[], None]) -> None:
        """Removes shared files that no checkpoint kept refers to: those of checkpoints that were given up.

        Nothing may be under way. The check, that this driver still runs the job, comes after the listing: what another
        driver's slots write is not in it.
        """
        folder = join_path(self.folder, "shared")
        paths = {join_path(folder, name) for name in list_folder(folder)}
        check()
        for path in paths - {path for kept in self.completed for path in _shared_files(kept)}:
            delete_file(path)

    def highest_id(self) -> int:
        """The highest number that was ever used here, by a complete checkpoint or another."""
        numbers = [int(match.group(1)) for name in list_folder(self.folder) if (match := _NAME.fullmatch(name))]
        return max([0, *numbers, *(checkpoint.checkpoint_id for checkpoint in self.completed)])

    def reserve(self, checkpoint_id: int) -> int:
        """This number or the next one that is free; its folder is made here, so that it belongs to this driver alone.

        One that was stopped and replaced may still write to, or remove, what it has begun.
        """
        while not create_folder(self.folder_of(checkpoint_id)):
            checkpoint_id += 1
        return checkpoint_id

    def find(self, newest: str | None = None) -> None:
        """Finds the checkpoints that an earlier driver has completed; none after `newest` counts."""
        is_elsewhere = newest is not None and newest.rstrip("/").rpartition("/")[0] != self.folder.rstrip("/")
        limit = None if newest is None else _number(newest)
        names = [name for name in list_folder(self.folder) if _NAME.fullmatch(name)]
        damaged: dict[int, str] = {}
        for name in sorted(names, key=_number):
            path = self._path(name)
            if METADATA not in list_folder(path) or (limit is not None and _number(name) > limit):
                continue
            try:
                self.completed.append(read_checkpoint(path))
            except StorageUnavailableError:
                raise
            except StateError as error:
                damaged[_number(name)] = str(error)
        if newest is not None and is_elsewhere:
            # The configuration has changed since; or it is a savepoint.
            self.completed.append(read_checkpoint(newest))
            return
        checkpoint_ids = {checkpoint.checkpoint_id for checkpoint in self.completed}
        if limit is not None and limit not in checkpoint_ids | damaged.keys():
            later = [name for name in names if _number(name) > limit and METADATA in list_folder(self._path(name))]
            unknown = f", and the record does not mention these later ones: {', '.join(sorted(later))}"
            damaged[limit] = f"the checkpoint '{newest}' is gone{unknown if later else ''}"
        self.losses += [
            text for number, text in sorted(damaged.items(), reverse=True) if number > max(checkpoint_ids, default=0)
        ]

    def _path(self, name: str) -> str:
        return join_path(self.folder, name)

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint whose files are all there, else the origin; None when there never was one.

        StateError when there was one and none can be used: to start from nothing would repeat all output.
        """
        while self.completed:
            try:
                verify_files(self.completed[-1])
                return self.completed[-1]
            except StorageUnavailableError:  # it may be there, and will be found when its storage can be reached
                raise
            except StateError as error:
                self.discard(error)
        if self.origin is not None or not self.losses:
            return self.origin
        reasons = "; ".join(self.losses)
        if not self.may_restart:
            raise StateError(
                f"no intact checkpoint is left in '{self.folder}': {reasons}; to begin from nothing, with all output "
                f"once more, set {RECOVERY_ON_DAMAGE.key}=restart (funke recover --on-damage restart)"
            )
        self.losses.clear()
        notice(f"warning: no intact checkpoint is left: {reasons}; the job begins from nothing")
        return None

    def discard(self, reason: Exception) -> None:
        """The newest checkpoint turned out to be damaged: the one before it counts from now on."""
        if not self.completed:
            raise StateError(f"the job cannot be restored: {reason}") from reason
        self.completed.pop()
        self.losses.append(str(reason))

    def go_back(self, start: Checkpoint) -> None:
        """A user has decided that the job goes on from an older checkpoint."""
        for reason in self.losses:
            notice(f"warning: {reason}; going back to the checkpoint before it, '{start.path}'")
        self.losses.clear()


def _number(path: str) -> int:
    match = _NAME.fullmatch(path.rstrip("/").rpartition("/")[2])
    return int(match.group(1)) if match else -1


def _shared_files(checkpoint: Checkpoint) -> set[str]:
    paths = (path for handle in checkpoint.snapshots for path, _ in handle.files())
    return {join_path(checkpoint.path, path) for path in paths if path.startswith(_SHARED)}
