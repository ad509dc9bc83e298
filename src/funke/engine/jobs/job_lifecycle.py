"""The status of a job by Flink's state machine, and the history of what went wrong."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from funke.engine.errors import JobExecutionError
from funke.engine.types.job_status import JobStatus

__all__ = ["ExceptionEntry", "JobLifecycle"]

_S = JobStatus
_NEXT: dict[JobStatus, frozenset[JobStatus]] = {
    _S.CREATED: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING, _S.FINISHED, _S.SUSPENDED}),
    # A job that another driver has begun; it runs once its state is restored.
    _S.RECONCILING: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING, _S.FINISHED, _S.SUSPENDED}),
    _S.RUNNING: frozenset({_S.FINISHED, _S.FAILING, _S.CANCELLING, _S.SUSPENDED}),
    _S.FAILING: frozenset({_S.FAILED, _S.RESTARTING, _S.CANCELLING, _S.SUSPENDED}),
    _S.RESTARTING: frozenset({_S.CREATED, _S.FAILING, _S.CANCELLING, _S.SUSPENDED}),
    _S.CANCELLING: frozenset({_S.CANCELED, _S.SUSPENDED}),
    # Another driver may go on with it; here it has ended.
    _S.SUSPENDED: frozenset(),
    _S.FINISHED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELED: frozenset(),
}
_MOST_EXCEPTIONS = 16


@dataclass(frozen=True)
class ExceptionEntry:
    """One failure of a job."""

    timestamp_ms: int
    attempt: int
    error: Exception

    @property
    def operator(self) -> str | None:
        """The step that failed, if one did."""
        return self.error.operator if isinstance(self.error, JobExecutionError) else None

    @property
    def message(self) -> str:
        """What was wrong."""
        return str(self.error) or type(self.error).__name__


class JobLifecycle:
    """Where a job stands, and where it stood; asked by any thread."""

    def __init__(
        self, first: JobStatus = JobStatus.CREATED, on_change: Callable[[JobStatus], None] = lambda status: None
    ) -> None:
        self._status = first
        self._on_change = on_change
        self._lock = threading.RLock()
        self._exceptions: deque[ExceptionEntry] = deque(maxlen=_MOST_EXCEPTIONS)
        # When the job entered each status, in milliseconds.
        self.history: list[tuple[JobStatus, int]] = [(first, _now_ms())]

    @property
    def status(self) -> JobStatus:
        """The current status."""
        return self._status

    @property
    def exceptions(self) -> list[ExceptionEntry]:
        """The last failures, newest first."""
        return list(reversed(self._exceptions))

    def enter(self, status: JobStatus) -> bool:
        """Goes on to another status; False, and nothing happens, if the current one does not lead there."""
        with self._lock:
            if status not in _NEXT[self._status]:
                return False
            # First, so that a status that may not be written down is not entered either.
            self._on_change(status)
            self._status = status
            self.history.append((status, _now_ms()))
            return True

    def record(self, attempt: int, error: Exception) -> ExceptionEntry:
        """Remembers a failure."""
        entry = ExceptionEntry(_now_ms(), attempt, error)
        self._exceptions.append(entry)
        return entry


def _now_ms() -> int:
    return int(time.time() * 1000)
