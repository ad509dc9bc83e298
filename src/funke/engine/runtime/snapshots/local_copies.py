"""Copies of the newest checkpoint's files on a worker's own disk: slots that restart there need not fetch them.

<folder>/funke-local-<job>/<attempt>-<slot>/chk-7/<name>.<checksum>
<folder>/funke-local-<job>/<attempt>-<slot>/shared/<name>.<checksum>

They are worth nothing by themselves: a copy that is missing or damaged is fetched from where checkpoints are kept.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import threading
from collections.abc import Collection, Iterable, Sequence

from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, checksum_of, join_path
from funke.engine.trust.private_files import open_private_folder, require_private_folder

__all__ = ["LocalCopies", "remove_copies"]


class LocalCopies:
    """The copies that one slot keeps, and those of slots before it on the same host."""

    def __init__(
        self, folders: Sequence[str], job_id: str, attempt: int, slot: int, others: Collection[int] = ()
    ) -> None:
        """`others` are slots whose attempts go their own ways: those of other regions."""
        self._folders = _folders(folders, job_id)
        self._attempt = attempt
        self._own = os.path.join(self._folders[slot % len(self._folders)], f"{attempt}-{slot}")
        self._others = {str(other) for other in others}
        # By checkpoint.
        self._kept: dict[int, set[str]] = {}
        self._lock = threading.Lock()

    def keep(self, checkpoint_id: int, folder: str, handles: Iterable[SnapshotHandle], spool: str) -> None:
        """Takes over the files of a checkpoint that are in a local folder, and links those that others have too."""
        kept = set()
        for handle in handles:
            for path, size in handle.files():
                uri, spooled = join_path(folder, path), join_path(spool, path)
                if os.path.exists(spooled):
                    kept.add(self._take(spooled, uri))
                elif (copy := self.find(uri, size)) is not None:
                    kept.add(self._link(copy, uri))
        with self._lock:
            self._kept[checkpoint_id] = kept

    def find(self, uri: str, size: int) -> str | None:
        """An intact copy of the file that is kept at a URI; None if there is none."""
        for parent in self._folders:
            # Every user may write to the system's temporary folder.
            with contextlib.suppress(OSError):
                require_private_folder(parent)
                for copy in glob.glob(os.path.join(glob.escape(parent), "*", f"{_key(uri)}.*")):
                    if os.path.getsize(copy) == size and copy.endswith(f".{_checksum(copy)}"):
                        return copy
        return None

    def supersede(self, newest: int, aborted: Iterable[int]) -> None:
        """A checkpoint is complete, or some were given up: earlier copies are not needed any more."""
        with self._lock:
            gone = [number for number in self._kept if number < newest or number in aborted]
            unwanted = {path for number in gone for path in self._kept.pop(number)}
            unwanted -= {path for kept in self._kept.values() for path in kept}
        for path in unwanted:
            with contextlib.suppress(OSError):
                os.unlink(path)
        if newest >= 0:
            self._remove_older_attempts()

    def _remove_older_attempts(self) -> None:
        # All slots have restored what they had to, or there were no complete checkpoint.
        for parent in self._folders:
            for name in os.listdir(parent) if os.path.isdir(parent) else ():
                attempt, _, slot = name.partition("-")
                if attempt.isdecimal() and int(attempt) < self._attempt and slot not in self._others:
                    shutil.rmtree(os.path.join(parent, name), ignore_errors=True)

    def _take(self, spooled: str, uri: str) -> str:
        target = self._target(uri, _checksum(spooled))
        shutil.move(spooled, target)
        return target

    def _link(self, copy: str, uri: str) -> str:
        target = self._target(uri, copy.rpartition(".")[2])
        if copy != target and not os.path.exists(target):
            os.link(copy, target)
        return target

    def _target(self, uri: str, checksum: str) -> str:
        open_private_folder(os.path.dirname(self._own))
        target = os.path.join(self._own, f"{_key(uri)}.{checksum}")
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        return target


def remove_copies(folders: Sequence[str], job_id: str, slots: int) -> None:
    """Removes all copies of a job here and, as far as Spark can be asked to, where its slots were."""
    from pyspark import SparkContext

    _remove_here(folders, job_id)
    context = SparkContext._active_spark_context if folders else None
    if context is not None and not str(context.master).startswith("local"):
        with contextlib.suppress(Exception):
            context.parallelize(range(slots), slots).foreach(lambda _: _remove_here(folders, job_id))


def _remove_here(folders: Sequence[str], job_id: str) -> None:
    for folder in _folders(folders, job_id):
        shutil.rmtree(folder, ignore_errors=True)


def _folders(folders: Sequence[str], job_id: str) -> list[str]:
    return [os.path.join(folder, f"funke-local-{job_id}") for folder in folders]


def _key(uri: str) -> str:
    """The last two parts of a path: names are never used twice in a job."""
    return "/".join(uri.rsplit("/", 2)[1:])


def _checksum(path: str) -> str:
    return f"{checksum_of(path):08x}"
