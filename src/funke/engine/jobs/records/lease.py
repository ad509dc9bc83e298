"""The lease of a job: which driver runs it, by an attempt number that only ever grows.

A driver claims the next number by linking a file `attempt-<number>` into the job's folder, which the file system
lets only one of them do. It holds a lock on the file as long as it lives, and touches it again and again. A number
whose lock is free, or that was not touched for a while, may be followed by the next one; the driver that has fallen
behind finds that out before it writes anything that counts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import LeaseLostError

__all__ = ["Lease", "LeaseOwner", "current_owner"]

_NAME = re.compile(r"attempt-(\d+)")
# Several files stay, so that a concurrent listing of the folder always finds one.
_KEPT = 3


@dataclass(frozen=True)
class LeaseOwner:
    """Who runs the job, or ran it last."""

    attempt: int
    pid: int
    host: str
    is_alive: bool


class Lease:
    """The right to run a job; made by `acquire`."""

    def __init__(self, folder: str, timeout_s: float) -> None:
        self.folder = folder
        self.attempt = -1
        self._timeout_s = timeout_s
        self._file = -1
        self._released = threading.Event()
        # A restart claims the next number while the heart beats on another thread.
        self._claiming = threading.Lock()

    @staticmethod
    def acquire(folder: str, timeout_s: float) -> Lease:
        """Takes the lease, from a driver that is gone if there was one; LeaseLostError when one is alive."""
        lease = Lease(folder, timeout_s)
        last = -1
        while True:
            owner = current_owner(folder, timeout_s)
            if owner is not None and owner.is_alive:
                raise LeaseLostError(
                    f"the job is already run by process {owner.pid} on {owner.host} (attempt {owner.attempt})"
                )
            last = max(last, -1 if owner is None else owner.attempt)
            if lease._claim(last + 1):
                break
            last += 1
        threading.Thread(target=lease._beat, name="funke-lease", daemon=True).start()
        return lease

    def _claim(self, number: int) -> bool:
        """Tries to become the owner of a number; False if another process was first."""
        descriptor, draft = tempfile.mkstemp(prefix=".claim-", dir=self.folder)
        try:
            # Locked before it has its name: no moment in which the lease looks free.
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "is_locked": _has_locked(descriptor)}
            os.write(descriptor, json.dumps(owner).encode())
            os.fsync(descriptor)
            os.link(draft, _path(self.folder, number))
        except FileExistsError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            os.unlink(draft)
        with self._claiming:
            before, self._file, self.attempt = self._file, descriptor, number
        if before >= 0:
            os.close(before)
        for old in _numbers(self.folder):
            if old <= number - _KEPT:
                with contextlib.suppress(OSError):
                    os.unlink(_path(self.folder, old))
        return True

    def check(self) -> None:
        """Raises LeaseLostError when another driver has taken over: called before everything that counts."""
        newest = max(_numbers(self.folder), default=-1)
        if self._released.is_set() or newest != self.attempt:
            raise LeaseLostError(f"another driver runs the job (attempt {newest}, this one is {self.attempt})")

    def advance(self) -> int:
        """Begins the next attempt of the same driver; returns its number."""
        self.check()
        if not self._claim(self.attempt + 1):
            raise LeaseLostError(f"another driver has begun attempt {self.attempt + 1}")
        return self.attempt

    def release(self) -> None:
        """Gives the lease back; the number stays used."""
        self._released.set()
        with self._claiming:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _beat(self) -> None:
        while not self._released.wait(self._timeout_s / 5):
            with self._claiming, contextlib.suppress(OSError):
                if self._file >= 0:
                    os.utime(self._file)


def current_owner(folder: str, timeout_s: float) -> LeaseOwner | None:
    """The owner of the highest number; None when the job has not run yet."""
    for number in sorted(_numbers(folder), reverse=True):
        try:
            file = os.open(_path(folder, number), os.O_RDONLY)
        except FileNotFoundError:  # a later attempt has tidied up
            return current_owner(folder, timeout_s)
        try:
            return _owner(folder, number, file, timeout_s)
        finally:
            os.close(file)
    return None


def _owner(folder: str, number: int, file: int, timeout_s: float) -> LeaseOwner:
    try:
        content: dict[str, Any] = json.loads(os.read(file, 4096))
    except ValueError:
        content = {}
    # Where files cannot be locked, only time can tell.
    is_dead = bool(content.get("is_locked", True)) and _is_unlocked(file)
    is_alive = not is_dead and _age_s(folder, file) < timeout_s
    return LeaseOwner(number, int(content.get("pid", 0)), str(content.get("host", "")), is_alive)


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


def _numbers(folder: str) -> list[int]:
    return [int(match.group(1)) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]


def _path(folder: str, number: int) -> str:
    return os.path.join(folder, f"attempt-{number}")
