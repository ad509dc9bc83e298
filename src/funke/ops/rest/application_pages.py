"""Applications: runs of programs, each with the jobs that it has submitted."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from funke.engine.jobs.views.job_view import JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.rest.call import Answer, Call, RestError, Route
from funke.ops.rest.job_directory import KnownJob
from funke.ops.rest.job_pages import EXCEPTION, KEY_VALUES, exception_entry, key_values
from funke.ops.rest.shapes import ANY, MapOf

__all__ = ["ROUTES"]


def _applications(call: Call) -> dict[str, list[KnownJob]]:
    """The jobs of each run of a program, oldest first."""
    by_run: dict[str, list[KnownJob]] = {}
    for job in call.cluster.jobs.all():
        by_run.setdefault(job.record.run_id, []).append(job)
    return by_run


def _jobs_of(call: Call) -> list[KnownJob]:
    run_id = call.path["applicationid"]
    jobs = _applications(call).get(run_id)
    if jobs is None:
        raise RestError(404, f"Application {run_id[:100]} not found")
    return jobs


def applications(call: Call) -> Any:
    by_run = _applications(call).items()
    return {"applications": [_entry(run_id, [job.seen for job in jobs]) for run_id, jobs in by_run]}


def application(call: Call) -> Any:
    views = [job.seen for job in _jobs_of(call)]
    entered = {each.name: 0 for each in JobStatus}
    for view in views:
        entered.update({entry.status.name: entry.since_ms for entry in view.status_history})
    jobs = [{"jid": each.job_id, "name": each.name, "state": each.status.name} for each in views]
    return {**_entry(call.path["applicationid"], views), "timestamps": entered, "jobs": jobs}


def _entry(run_id: str, views: list[JobView]) -> dict[str, Any]:
    ends = [each.ended_ms for each in views]
    end = -1 if any(each is None for each in ends) else max(each for each in ends if each is not None)
    start = min(each.started_ms for each in views)
    running = [each.status for each in views if not each.status.is_globally_terminal_state()]
    return {
        "id": run_id,
        "name": views[0].name,
        "status": (running or [views[-1].status])[0].name,
        "start-time": start,
        "end-time": end,
        "duration": (end if end >= 0 else int(time.time() * 1000)) - start,
        "jobs": dict(Counter(each.status.name for each in views)),
    }


def cancel(call: Call) -> Any:
    jobs = _jobs_of(call)
    running = [job for job in jobs if not job.seen.status.is_globally_terminal_state()]
    if not running:
        raise RestError(409, f"Application {call.path['applicationid']} has ended: {jobs[-1].seen.status.name}")
    # Not waited for, as that of a job.
    for job in running:
        job.commanded().cancel()
    return Answer({}, 202)


def exceptions(call: Call) -> Any:
    failures = [(view, each) for view in (job.view() for job in _jobs_of(call)) for each in view.exceptions]
    failures.sort(key=lambda each: each[1].timestamp_ms, reverse=True)
    entries = [{**exception_entry(view, each), "jobId": view.job_id} for view, each in failures]
    return {"exceptionHistory": {"entries": entries, "truncated": False}}


def settings(call: Call) -> Any:
    """What its jobs were configured with; of several, the last one."""
    return key_values(_jobs_of(call)[-1].view().configuration)


_APPLICATION = {"id": str, "name": str, "status": str, "start-time": int, "end-time": int, "duration": int}
_A = "/applications/{applicationid}"

ROUTES = (
    Route(
        "GET",
        "/applications/overview",
        applications,
        "Runs of programs",
        {"applications": [{**_APPLICATION, "jobs": MapOf(int)}]},
    ),
    Route(
        "GET",
        _A,
        application,
        "A run of a program and its jobs",
        {**_APPLICATION, "timestamps": MapOf(int), "jobs": [{"jid": str, "name": str, "state": str}]},
    ),
    Route("POST", f"{_A}/cancel", cancel, "Cancels its jobs", ANY, status=202),
    Route(
        "GET",
        f"{_A}/exceptions",
        exceptions,
        "What went wrong in its jobs",
        {"exceptionHistory": {"entries": [{**EXCEPTION, "jobId": str}], "truncated": bool}},
    ),
    Route("GET", f"{_A}/jobmanager/config", settings, "Its configuration", KEY_VALUES),
)
