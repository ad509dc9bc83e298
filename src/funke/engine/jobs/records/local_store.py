"""Job records in a folder of this machine, or one that several share by a file system with hard links."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Hashable, Mapping
from typing import Any

from funke.engine.jobs.records.record_store import Claim, RecordStore, Sign, parse_owner
from funke.engine.trust.private_files import open_own_file, require_private_folder

__all__ = ["LocalStore"]


class LocalStore(RecordStore):
    """Claims a number by a hard link, and holds a lock as long as its process lives."""

    has_locks = True

    def local_folder(self, folder: str) -> str:
        """The folder itself."""
        return folder

    def make_folder(self, folder: str) -> None:
        """Makes a folder that only this user may enter; an error when it is there."""
        os.makedirs(folder, mode=0o700)

    def require_own(self, folder: str) -> None:
        """Only this user may enter it."""
        require_private_folder(folder)

    def folders(self, folder: str) -> list[str]:
        """The names in a folder."""
        return os.listdir(folder) if os.path.isdir(folder) else []

    def versions(self, folder: str) -> dict[str, Hashable]:
        """The files with the times of their last change."""
        versions: dict[str, Hashable] = {}
        with os.scandir(folder) as entries:
            for each in entries:
                with contextlib.suppress(FileNotFoundError):  # it has just been removed
                    versions[each.name] = each.stat().st_mtime_ns
        return versions

    def read(self, path: str, most_bytes: int | None = None) -> bytes:
        """A file that this user has written."""
        with open_own_file(path) as file:
            if most_bytes is not None and os.fstat(file.fileno()).st_size > most_bytes:
                raise OSError(f"'{path}' is larger than {most_bytes} bytes")
            return file.read()

    def write(self, path: str, content: bytes) -> None:
        """Replaces a file by an atomic rename that survives a crash of the machine."""
        part = f"{path}.part"
        try:
            with open(part, "wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            os.rename(part, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part)  # on a full disk, room is what others need
            raise
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def claim(self, path: str, owner: Mapping[str, Any]) -> Claim | None:
        """Creates the file of a number; None when another process was faster."""
        descriptor, draft = tempfile.mkstemp(prefix=".claim-", dir=os.path.dirname(path))
        try:
            # Locked before it has its name: no moment in which the number looks free.
            content = {**owner, "is_locked": _has_locked(descriptor)}
            os.write(descriptor, json.dumps(content).encode())
            os.fsync(descriptor)
            os.link(draft, path)
        except FileExistsError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            os.unlink(draft)
        return _LockedClaim(descriptor)

    def sign(self, path: str) -> Sign:
        """What the file of a number shows now."""
        file = os.open(path, os.O_RDONLY)
        try:
            owner = parse_owner(os.read(file, 4096))
            # Where files cannot be locked, only time can tell.
            is_free = bool(owner.get("is_locked", True)) and _is_unlocked(file)
            age_s = None if is_free else _age_s(os.path.dirname(path), file)
            return Sign(owner, is_free, os.fstat(file).st_mtime_ns, age_s)
        finally:
            os.close(file)

    def remove(self, path: str) -> None:
        """Removes a file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_folder(self, folder: str) -> None:
        """Removes a folder with all it holds."""
        shutil.rmtree(folder, ignore_errors=True)


class _LockedClaim(Claim):
    def __init__(self, file: int) -> None:
        self._file = file

    def beat(self) -> None:
        os.utime(self._file)

    def release(self) -> None:
        os.close(self._file)


def _has_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_unlocked(file: int) -> bool:
    """Whether the lock is free: its owner is dead."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


def _age_s(folder: str, file: int) -> float:
    """How long ago a file was touched, by the clock of the file system and not of this host."""
    try:
        with tempfile.TemporaryFile(prefix=".now-", dir=folder) as now:
            return os.fstat(now.fileno()).st_mtime - os.fstat(file).st_mtime
    except OSError:  # a full disk
        return time.time() - os.fstat(file).st_mtime
