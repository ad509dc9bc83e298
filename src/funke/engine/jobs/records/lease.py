"""The lease of a job: which driver runs it, by an attempt number that only ever grows.

A driver claims the next number by creating a file `attempt-<number>` in the job's folder, which the store lets only one
of them do. As long as it lives, it changes the file again and again. A number that its owner has given back, or whose
file did not change for a while, may be followed by the next one; the driver that has fallen behind finds that out
before it writes anything that counts.

How long the file did not change is measured by the process that looks, with its own steady clock: the clocks of two
machines are never compared, and a clock that is set changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from funke.engine.errors import LeaseLostError, StateError
from funke.engine.jobs.records.record_store import Claim, Sign
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.runtime.snapshots.snapshot_files import join_path

__all__ = ["Lease", "LeaseOwner", "await_beats", "current_owner"]

_NAME = re.compile(r"attempt-(\d+)")
# Several files stay, so that a concurrent listing of the folder always finds one.
_KEPT = 3
_LOOK_S = 0.1


@dataclass(frozen=True)
class LeaseOwner:
    """Who runs the job, or ran it last."""

    attempt: int
    pid: int
    host: str
    is_alive: bool
    # Whether it follows from a lock or from what this process itself has seen that the owner lives, or does not.
    is_certain: bool = True


@dataclass(frozen=True)
class _Seen:
    """A number and its beat as they were seen last, and since when they are so by this process's clock."""

    number: int
    beat: Hashable
    since: float
    is_changed: bool = False


class _Watch:
    """What this process has seen of leases."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}

    def look(self, folder: str, number: int, sign: Sign) -> _Seen:
        with self._lock:
            before = self._seen.get(folder)
            if before is None or before.number != number:
                before = _Seen(number, sign.beat, self.clock())
            elif before.beat != sign.beat:
                before = _Seen(number, sign.beat, self.clock(), is_changed=True)
            if sign.is_free:
                self._seen.pop(folder, None)
            else:
                self._seen[folder] = before
            return before


_watch = _Watch(time.monotonic)


class Lease:
    """The right to run a job; made by `acquire`."""

    def __init__(self, folder: str, timeout_s: float) -> None:
        self.folder = folder
        self.attempt = -1
        self._timeout_s = timeout_s
        self._store = store_of(folder)
        self._held: Claim | None = None
        self._released = threading.Event()
        # A restart claims the next number while the heart beats on another thread.
        self._claiming = threading.Lock()

    @staticmethod
    def acquire(folder: str, timeout_s: float) -> Lease:
        """Takes the lease, from a driver that is gone if there was one; LeaseLostError when one is alive.

        Without a lock it takes a beat of the other driver, or the timeout, to know which of both it is.
        """
        lease = Lease(folder, timeout_s)
        last = -1
        while True:
            owner = _settled_owner(folder, timeout_s)
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
        owner = {"pid": os.getpid(), "host": socket.gethostname()}
        claim = self._store.claim(_path(self.folder, number), owner)
        if claim is None:
            return False
        with self._claiming:
            before, self._held, self.attempt = self._held, claim, number
        _release(before)
        for old in _numbers(self.folder):
            if old <= number - _KEPT:
                with contextlib.suppress(OSError):
                    self._store.remove(_path(self.folder, old))
        return True

    def check(self) -> None:
        """Raises LeaseLostError when another driver has taken over: called before everything that counts."""
        try:
            newest = max(_numbers(self.folder), default=-1)
        except OSError as error:
            raise StateError(f"whether this driver still runs the job is unknown: {error}") from error
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
            held, self._held = self._held, None
        _release(held)

    def _beat(self) -> None:
        while not self._released.wait(self._timeout_s / 5):
            with self._claiming, contextlib.suppress(OSError):
                if self._held is not None:
                    self._held.beat()


def _release(claim: Claim | None) -> None:
    if claim is not None:
        with contextlib.suppress(OSError):
            claim.release()


def current_owner(folder: str, timeout_s: float) -> LeaseOwner | None:
    """The owner of the highest number; None when the job has not run yet."""
    store = store_of(folder)
    for number in sorted(_numbers(folder), reverse=True):
        try:
            sign = store.sign(_path(folder, number))
        except FileNotFoundError:  # a later attempt has tidied up
            return current_owner(folder, timeout_s)
        seen = _watch.look(folder, number, sign)
        return _owner(number, sign, seen, _watch.clock() - seen.since, timeout_s)
    return None


def _owner(number: int, sign: Sign, seen: _Seen, silent_s: float, timeout_s: float) -> LeaseOwner:
    pid, host = int(sign.owner.get("pid", 0)), str(sign.owner.get("host", ""))
    if sign.is_free or silent_s >= timeout_s:
        return LeaseOwner(number, pid, host, is_alive=False)
    if seen.is_changed or sign.age_s is None:
        return LeaseOwner(number, pid, host, is_alive=True, is_certain=seen.is_changed)
    # Those who look for the first time have nothing but the store's own clock: enough to leave the job alone.
    is_alive = sign.age_s < timeout_s
    return LeaseOwner(number, pid, host, is_alive, is_certain=is_alive)


def _settled_owner(folder: str, timeout_s: float) -> LeaseOwner | None:
    while (owner := current_owner(folder, timeout_s)) is not None and not owner.is_certain:
        time.sleep(min(_LOOK_S, timeout_s / 20))
    return owner


def await_beats(folders: list[str], timeout_s: float) -> None:
    """Waits until it is certain of all owners whether they live: at most for the timeout, mostly for a beat."""
    for look in (current_owner, _settled_owner):
        for folder in folders:
            look(folder, timeout_s)


def _numbers(folder: str) -> list[int]:
    names = store_of(folder).versions(folder)
    return [int(match.group(1)) for name in names if (match := _NAME.fullmatch(name))]


def _path(folder: str, number: int) -> str:
    return join_path(folder, f"attempt-{number}")
