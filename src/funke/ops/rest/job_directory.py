"""The jobs that records tell of, running and ended; what has not changed on disk is not read again."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from funke.engine.errors import FunkeError, StateError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.job import Job
from funke.engine.jobs.records.job_record import JobRecord, read_record
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.jobs.records.recorded_job import EndedJob, RemoteJob, recorded_view
from funke.engine.jobs.views.job_view import JobView
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.types.job_status import JobStatus

__all__ = ["JobDirectory", "KnownJob"]

_JOB_ID = re.compile(r"[0-9a-f]{32}")
# A driver is asked at most so often, however many look.
_LIVE_S = 0.5
# A driver that is stopped must not hold up those who look at its job for long.
_SILENCE_S = 3.0


@dataclass(frozen=True)
class KnownJob:
    """A job, as its record and its driver tell of it."""

    record: JobRecord
    # As it was written down last.
    seen: JobView
    is_driven: bool
    # How many subtasks are in each state, by what was written down.
    tasks: Counter[ExecutionState]
    _directory: JobDirectory
    # What pages have made of this view.
    kept: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def job_id(self) -> str:
        """Its id."""
        return self.record.job_id

    def view(self) -> JobView:
        """What its driver sees now; without one, what was written down last."""
        return self._directory.live_view(self)

    def commanded(self) -> Job:
        """The job, for commands; StateError when it has no driver to receive them."""
        if self.seen.status.is_globally_terminal_state():
            return EndedJob(self.record)
        if not self.is_driven:
            raise StateError(f"the driver of job {self.job_id} is gone; `funke recover` goes on with the job")
        return RemoteJob(self.record)


@dataclass(frozen=True)
class _Look:
    """What a job's files looked like when they were read, and what was in them."""

    signature: tuple[tuple[str, Hashable], ...]
    # Nothing will change any more.
    is_final: bool
    job: KnownJob


class JobDirectory:
    """All jobs in the folder of records."""

    def __init__(self, home: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.home = home
        self._clock = clock
        self._lock = threading.Lock()
        self._looks: dict[str, _Look] = {}
        self._live: dict[str, tuple[float, JobView]] = {}

    def all(self) -> list[KnownJob]:
        """Every job, the oldest first."""
        folder = join_path(self.home, "jobs")
        names = store_of(folder).folders(folder)
        with self._lock:
            final_jobs = {
                name: each.job for name in names if (each := self._looks.get(name)) is not None and each.is_final
            }
        jobs = {name: job for name in names if (job := final_jobs.get(name) or self._look(name)) is not None}
        with self._lock:
            self._looks = {name: each for name, each in self._looks.items() if name in jobs}
            self._live = {name: each for name, each in self._live.items() if name in jobs}
        return sorted(jobs.values(), key=lambda job: (job.record.started_ms, job.record.ordinal))

    def find(self, job_id: str) -> KnownJob | None:
        """The job with an id."""
        return self._look(job_id) if _JOB_ID.fullmatch(job_id) else None

    def _look(self, name: str) -> KnownJob | None:
        """A job, read again if it may have changed; None for a folder that holds none of this user's."""
        with self._lock:
            before = self._looks.get(name)
        folder = join_path(self.home, f"jobs/{name}")
        if before is not None and before.is_final:
            return before.job if _is_there(folder) else None
        try:
            look = _read(folder, before, self)
        except (OSError, FunkeError, ValueError, KeyError, TypeError):
            return None
        with self._lock:
            self._looks[name] = look
        return look.job

    def live_view(self, job: KnownJob) -> JobView:
        """The view of a job's driver, at most half a second old."""
        if not job.is_driven or _is_ended(job):
            return job.seen
        with self._lock:
            asked, view = self._live.get(job.job_id, (0.0, None))
        if view is not None and self._clock() - asked < _LIVE_S:
            return view
        with contextlib.suppress(FunkeError, OSError, ValueError, KeyError, TypeError):
            view = RemoteJob(job.record, _SILENCE_S).view()
            with self._lock:
                self._live[job.job_id] = (self._clock(), view)
            return view
        return job.seen


def _is_ended(job: KnownJob) -> bool:
    return job.seen.status.is_globally_terminal_state()


def _read(folder: str, before: _Look | None, directory: JobDirectory) -> _Look:
    record = before.job.record if before is not None else read_record(folder)
    signature, owner = record.version(), record.owner()
    is_driven = owner is not None and owner.is_alive
    if before is not None and (signature, is_driven) == (before.signature, before.job.is_driven):
        return before
    # A job that has failed because its driver is gone may still be taken up by another; a driver writes its last view
    # when the job has ended.
    is_final = not is_driven and record.state().status.is_globally_terminal_state()
    seen = _seen(record, is_driven)
    return _Look(signature, is_final, KnownJob(record, seen, is_driven, seen.state_counts, directory))


def _is_there(folder: str) -> bool:
    try:
        return bool(store_of(folder).versions(folder))
    except OSError:
        return False


def _seen(record: JobRecord, is_driven: bool) -> JobView:
    """What was written down; a job that has lost its driver, and may go on elsewhere, is suspended."""
    view = recorded_view(record)
    if is_driven or view.status.is_globally_terminal_state():
        return view
    return replace(view, status=JobStatus.SUSPENDED)
