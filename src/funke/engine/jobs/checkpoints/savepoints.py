"""Requests for savepoints and checkpoints of a running job: what is wanted, where, and what becomes of it."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

from funke.engine.errors import ConfigurationError, FunkeError, StateError
from funke.engine.runtime.snapshots.snapshot_files import delete_folder, join_path, local_path, require_folder
from funke.engine.trust.private_files import require_own_folder

__all__ = ["CheckpointRequest", "SavepointRequest", "SnapshotRequests", "begin_savepoint"]

# What the job does once the savepoint is there. A stopped job commits what its sinks have prepared and is finished.
Afterwards = Literal["go on", "stop", "drain and stop", "cancel"]


@dataclass(frozen=True)
class SavepointRequest:
    """A request for a savepoint; the future ends with its path."""

    folder: str
    afterwards: Afterwards = "go on"
    future: Future[str] = field(default_factory=Future)

    @property
    def ends_job(self) -> bool:
        """Whether the job ends with it."""
        return self.afterwards != "go on"

    @property
    def is_draining(self) -> bool:
        """Whether event time advances to its end before."""
        return self.afterwards == "drain and stop"

    @property
    def commits(self) -> bool:
        """Whether what sinks have prepared is committed; otherwise the next checkpoint does that.

        Until then the job would, after a failure, go on from the checkpoint before and prepare it once more.
        """
        return self.afterwards in ("stop", "drain and stop")

    def succeed(self, path: str) -> None:
        """Completes the future, unless it is done."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(path)

    def fail(self, error: FunkeError) -> None:
        """Fails the future, unless it is done."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


@dataclass(frozen=True)
class CheckpointRequest:
    """A request for a checkpoint before the next one is due; the future ends with its number."""

    # Whether it shares no files with others, though checkpoints of the job do.
    is_full: bool = False
    future: Future[int] = field(default_factory=Future)

    def succeed(self, checkpoint_id: int) -> None:
        """Completes the future, unless it is done."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(checkpoint_id)

    def fail(self, error: FunkeError) -> None:
        """Fails the future, unless it is done."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


R = TypeVar("R", SavepointRequest, CheckpointRequest)


class SnapshotRequests(Generic[R]):
    """Requests that wait for an epoch; made by any thread. Each gets an answer, at the latest when the job ends."""

    def __init__(self, what: str, patience_ms: int) -> None:
        self._what = what
        self._patience_ms = patience_ms
        self._waiting: deque[R] = deque()
        # Also those that an epoch has taken.
        self._unanswered: list[R] = []
        self._lock = threading.Lock()
        self._closed: FunkeError | None = None
        # Called by the requester's thread.
        self.on_ask: Callable[[], None] = lambda: None

    def ask(self, request: R) -> Future[Any]:
        """Queues a request; it fails when no epoch has taken it in time."""
        with self._lock:
            if self._closed is None:
                self._waiting.append(request)
                self._unanswered = [each for each in self._unanswered if not each.future.done()] + [request]
        if self._closed is not None:
            request.fail(self._closed)
            return request.future
        timer = threading.Timer(self._patience_ms / 1000, self._give_up, [request])
        timer.daemon = True
        timer.start()
        request.future.add_done_callback(lambda _: timer.cancel())
        self.on_ask()
        return request.future

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> R | None:
        """The next request."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def _give_up(self, request: R) -> None:
        with self._lock:
            if request not in self._waiting:
                return
            self._waiting.remove(request)
        request.fail(StateError(f"the {self._what} failed: the job could not begin it within {self._patience_ms} ms"))

    def close(self, reason: FunkeError) -> None:
        """The job has ended: no more requests are answered."""
        with self._lock:
            self._closed = self._closed or reason
            unanswered, self._unanswered, self._waiting = self._unanswered, [], deque()
        for request in unanswered:
            request.fail(reason)


def begin_savepoint(
    job_id: str, requested: str | None, configured: str | None, afterwards: Afterwards
) -> SavepointRequest:
    """A request for a savepoint in a new folder, below the one that was asked for or else the configured one.

    The folder is made here, by the requester: a folder that cannot be written to costs the job nothing, and nothing is
    drained for it.
    """
    if afterwards not in get_args(Afterwards):
        raise ConfigurationError(
            f"'{afterwards}' is not an action after a savepoint: {', '.join(get_args(Afterwards))}"
        )
    folder = _savepoint_folder(job_id, requested, configured)
    if not require_folder(folder):
        raise StateError(f"the savepoint cannot be written to '{folder}': the folder exists")
    request = SavepointRequest(folder, afterwards)
    request.future.add_done_callback(partial(_remove_failed, folder))
    return request


def _remove_failed(folder: str, done: Future[str]) -> None:
    if done.cancelled() or done.exception() is not None:
        delete_folder(folder)


def _savepoint_folder(job_id: str, requested: str | None, configured: str | None) -> str:
    """A new name in the folder that was asked for, or else in the configured one; not in another user's."""
    parent = requested or configured
    if not parent:
        raise ConfigurationError(
            "name a folder for the savepoint, or set execution.checkpointing.savepoint-dir (state.savepoints.dir)"
        )
    local = local_path(parent)
    if local is not None:
        require_own_folder(local)
    return join_path(parent, f"savepoint-{job_id[:6]}-{secrets.token_hex(6)}")
