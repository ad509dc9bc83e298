"""The status of a job by Flink's state machine, and the history of what went wrong."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from funke.engine.jobs.views.job_view import ExceptionView, JobView, StatusEntry
from funke.engine.types.job_status import JobStatus

__all__ = ["JobLifecycle"]

_S = JobStatus
_NEXT: dict[JobStatus, frozenset[JobStatus]] = {
    _S.CREATED: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING, _S.FINISHED, _S.SUSPENDED}),
    # A job that another driver has begun; it runs once its state is restored.
    _S.RECONCILING: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING, _S.FINISHED, _S.SUSPENDED}),
    _S.RUNNING: frozenset({_S.FINISHED, _S.FAILING, _S.RESTARTING, _S.CANCELLING, _S.SUSPENDED}),
    _S.FAILING: frozenset({_S.FAILED, _S.RESTARTING, _S.CANCELLING, _S.SUSPENDED}),
    # Of a region alone it goes back to RUNNING.
    _S.RESTARTING: frozenset({_S.CREATED, _S.RUNNING, _S.RESTARTING, _S.FAILING, _S.CANCELLING, _S.SUSPENDED}),
    _S.CANCELLING: frozenset({_S.CANCELED, _S.SUSPENDED}),
    # Another driver may go on with it; here it has ended.
    _S.SUSPENDED: frozenset(),
    _S.FINISHED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELED: frozenset(),
}
_MOST_EXCEPTIONS = 16
_MOST_STATUSES = 64


class JobLifecycle:
    """Where a job stands, and where it stood; asked by any thread."""

    def __init__(
        self,
        first: JobStatus = JobStatus.CREATED,
        on_change: Callable[[JobStatus], None] = lambda status: None,
        earlier: JobView | None = None,
    ) -> None:
        """`earlier` is what a driver before this one has seen of the job."""
        self._status = first
        self._on_change = on_change
        self._lock = threading.RLock()
        before, failures = (earlier.status_history, earlier.exceptions) if earlier is not None else ((), ())
        self._exceptions = deque(reversed(failures), maxlen=_MOST_EXCEPTIONS)
        self._history = deque((*before, StatusEntry(first, _now_ms())), maxlen=_MOST_STATUSES)
        self.restarts = earlier.restarts if earlier is not None else 0
        # Of all times: the last ones are remembered.
        self.failures = max(earlier.failures, len(failures)) if earlier is not None else 0

    @property
    def status(self) -> JobStatus:
        """The current status."""
        return self._status

    @property
    def history(self) -> list[tuple[JobStatus, int]]:
        """The last statuses, each with the time in milliseconds at which it was entered."""
        return [(entry.status, entry.since_ms) for entry in self.entries]

    @property
    def entries(self) -> tuple[StatusEntry, ...]:
        """The last statuses, oldest first."""
        with self._lock:
            return tuple(self._history)

    @property
    def exceptions(self) -> list[ExceptionView]:
        """The last failures, newest first."""
        with self._lock:
            return list(reversed(self._exceptions))

    def enter(self, status: JobStatus) -> bool:
        """Goes on to another status; False, and nothing happens, if the current one does not lead there."""
        with self._lock:
            if status not in _NEXT[self._status]:
                return False
            # First, so that a status that may not be written down is not entered either.
            self._on_change(status)
            self._status = status
            self._history.append(StatusEntry(status, _now_ms()))
            self.restarts += status is JobStatus.RESTARTING
            return True

    def record(self, attempt: int, error: BaseException) -> None:
        """Remembers a failure."""
        with self._lock:
            self._exceptions.append(ExceptionView.of(error, attempt, _now_ms()))
            self.failures += 1


def _now_ms() -> int:
    return int(time.time() * 1000)
