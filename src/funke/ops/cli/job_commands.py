"""`funke list`, `status` and `cancel`: looks at jobs of other processes and ends them."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Any

from funke.engine.errors import ConfigurationError, FunkeError
from funke.engine.jobs.job import Job
from funke.engine.jobs.records.job_record import JobRecord, JobState, await_owners, home_folder, read_records
from funke.engine.jobs.records.recorded_job import RemoteJob, recorded_view
from funke.engine.jobs.views.back_pressure import PressureView
from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.cli.known_jobs import find_job
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import CommandParser, finish, is_looked_at, new_parser, print_json, say, show_table, waiting
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["cancel_job", "commanded", "home_of", "job_parser", "list_jobs", "show_status", "whole_path"]

_WIDTH = 62


def job_parser(command: str, description: str) -> CommandParser:
    """A parser for a command on jobs."""
    parser = new_parser(command, description)
    parser.add_argument("-m", "--jobmanager", metavar="HOST:PORT", help="the service that must be theirs")
    return parser


def home_of(options: Namespace) -> str:
    """Where job records are kept, by the configuration file, the environment and `-D` options."""
    home = home_folder(settings_with(options.properties))
    if options.jobmanager is not None:
        ServiceClient(ServiceFolder(home)).require(options.jobmanager)
    return home


def list_jobs(arguments: list[str]) -> None:
    """Print running jobs, jobs whose driver is gone, and on request those that have ended."""
    parser = job_parser("list", "shows jobs")
    parser.add_argument("-r", "--running", action="store_true", help="only jobs that run")
    parser.add_argument("-s", "--scheduled", action="store_true", help="only jobs that have not begun to run")
    parser.add_argument("-a", "--all", action="store_true", help="also jobs that have ended")
    options = parser.parse_args(arguments)
    by_kind = _by_kind(home_of(options))
    kinds = _kinds_asked_for(options)
    if options.json:
        print_json([_to_entry(kind, *job) for kind in kinds for job in by_kind[kind]])
        return
    for kind in kinds:
        _print_jobs(kind, by_kind[kind])


class _Kind(Enum):
    """How jobs are listed: a title, and what stands there without any."""

    RUNNING = ("Running/Restarting Jobs", "No running jobs.")
    SCHEDULED = ("Scheduled/Created Jobs", "No scheduled jobs.")
    LOST = ("Jobs without a Driver (funke recover)", "")
    ENDED = ("Terminated Jobs", "No terminated jobs.")


def _kinds_asked_for(options: Namespace) -> list[_Kind]:
    if not (options.running or options.scheduled):
        return [_Kind.RUNNING, _Kind.SCHEDULED, _Kind.LOST, *([_Kind.ENDED] if options.all else [])]
    asked = {_Kind.RUNNING: options.running, _Kind.SCHEDULED: options.scheduled, _Kind.ENDED: options.all}
    return [kind for kind, is_asked in asked.items() if is_asked]


def _to_entry(kind: _Kind, record: JobRecord, state: JobState) -> dict[str, Any]:
    return {
        "id": record.job_id,
        "name": record.name,
        "status": state.status.name,
        "started_ms": record.started_ms,
        "ended_ms": state.ended_ms,
        "has_driver": kind in (_Kind.RUNNING, _Kind.SCHEDULED),
        "checkpoint": state.checkpoint,
    }


_Listed = list[tuple[JobRecord, JobState]]


def _by_kind(home: str) -> dict[_Kind, _Listed]:
    by_kind: dict[_Kind, _Listed] = {kind: [] for kind in _Kind}
    records = list(read_records(home))
    await_owners(records)
    for record in records:
        state, owner = record.observed_state(), record.owner()
        by_kind[_kind_of(state, owner is not None and owner.is_alive)].append((record, state))
    return by_kind


def _kind_of(state: JobState, is_driven: bool) -> _Kind:
    if state.status.is_globally_terminal_state():
        return _Kind.ENDED
    if not is_driven:
        return _Kind.LOST
    return _Kind.SCHEDULED if state.status is JobStatus.CREATED else _Kind.RUNNING


def _print_jobs(kind: _Kind, jobs: _Listed) -> None:
    title, otherwise = kind.value
    if not jobs:
        print(otherwise, end="\n" if otherwise else "")
        return
    if is_looked_at():
        show_table(title, ("started", "job", "name", "status"), (_row(*job) for job in jobs))
        return
    print(f" {title} ".center(_WIDTH, "-"))
    for record, state in jobs:
        started, job_id, name, status = _row(record, state)
        print(f"{started} : {job_id} : {name} ({status})")
    print("-" * _WIDTH)


def _row(record: JobRecord, state: JobState) -> tuple[str, str, str, str]:
    started = time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(record.started_ms / 1000))
    return started, record.job_id, record.name, state.status.name


def show_status(arguments: list[str]) -> None:
    """Print what is known about a job."""
    parser = job_parser("status", "shows how a job stands")
    parser.add_argument("job_id")
    options = parser.parse_args(arguments)
    record = find_job(home_of(options), options.job_id)
    await_owners([record])
    state, owner = record.observed_state(), record.owner()
    is_running = owner is not None and owner.is_alive and not state.status.is_globally_terminal_state()
    view, error = _view_of(record, is_running)
    if options.json:
        print_json(view)
        return
    print(f"Job: {view.job_id} : {view.name}")
    print(f"Status: {view.status.name}")
    if owner is not None:
        alive = "runs" if owner.is_alive else "is gone"
        print(f"Driver: process {owner.pid} on {owner.host}, attempt {owner.attempt}, {alive}")
    _show_parts(view, error)
    print(f"Last checkpoint: {state.checkpoint or 'none'}")
    for line in _failure_lines(view):
        print(f"Failure: {line}")


def _failure_lines(view: JobView) -> Iterator[str]:
    """One line for those that are the same, oldest first; the last ones are known, earlier ones are counted."""
    lines = [f"{failure.message.splitlines()[0]}{_location_of(failure)}" for failure in reversed(view.exceptions)]
    earlier = view.failures - len(lines)
    if earlier > 0:
        yield f"{earlier} earlier one{'' if earlier == 1 else 's'}, of which nothing more is kept"
    for line, number in Counter(lines).items():
        yield line if number == 1 else f"{line}, {number} times"


def _location_of(failure: ExceptionView) -> str:
    """The user's line that raised it, or else that of the operator."""
    line = failure.raising_line or failure.user_line
    return f" ({line})" if line else ""


def _view_of(record: JobRecord, is_running: bool) -> tuple[JobView, FunkeError | None]:
    """What the job's driver sees, if there is one; else what was written down last, and why the driver did not say."""
    if is_running:
        try:
            return RemoteJob(record).view(), None
        except FunkeError as error:
            return recorded_view(record), error
    return recorded_view(record), None


def _show_parts(view: JobView, error: FunkeError | None) -> None:
    if not view.vertices:
        print(f"Tasks: unknown, {error or 'nothing was written down'}")
        return
    if error is not None:
        print(f"Seen: {max(0, time.time() - view.seen_ms / 1000):.0f} s ago, {error}")
    print("Tasks: " + ", ".join(f"{number} {state.name}" for state, number in view.state_counts.items()))
    for vertex in view.vertices:
        if vertex.pressure is not None:
            print(f"{vertex.name}: {_pressure_line(vertex.pressure)}")
    held_up = find_bottleneck(view)
    if held_up is not None:
        print(f"Diagnosis: {held_up.sentence}")
    if view.waiting_for:
        print(f"Waits for: {view.waiting_for}")
    checkpoints = view.checkpoints
    print(
        f"Checkpoints: {checkpoints.completed} completed, {checkpoints.failed} failed, "
        f"{checkpoints.in_progress} in progress"
    )
    if checkpoints.last_failure:
        print(f"Last failed checkpoint: {checkpoints.last_failure}")


def _pressure_line(pressure: PressureView) -> str:
    return (
        f"busy {pressure.busy:.0%}, backpressure {pressure.status.name} ({pressure.ratio:.0%}), "
        f"input buffers {pressure.in_usage:.0%}, output buffers {pressure.out_usage:.0%}: {pressure.diagnosis.value}"
    )


def cancel_job(arguments: list[str]) -> None:
    """Cancel a running job and wait until it has ended."""
    parser = job_parser("cancel", "cancels a running job")
    parser.add_argument(
        *("-s", "--withSavepoint"), nargs="?", const="", metavar="folder", help="with a savepoint; better: funke stop"
    )
    parser.add_argument("job_id", nargs="?")
    options = parser.parse_args(arguments)
    if options.job_id is None and options.withSavepoint:  # `cancel -s <job id>`, as Flink reads it
        options.job_id, options.withSavepoint = options.withSavepoint, ""
    if options.job_id is None:
        parser.error("name the job")
    record = find_job(home_of(options), options.job_id)
    say(options, f"Cancelling job {record.job_id}{'' if options.withSavepoint is None else ' with a savepoint'}.")
    with waiting("cancelling"):
        path = _cancelled(commanded(record), options.withSavepoint)
    say(options, f"Cancelled job {record.job_id}.{'' if path is None else f' Savepoint stored in {path}.'}")
    finish(options, id=record.job_id, status="CANCELED", **({} if path is None else {"path": path}))


def _cancelled(job: Job, folder: str | None) -> str | None:
    """Waits for the end of a job; the savepoint that it ends with, if a folder for it was named, or left to it (“”)."""
    if folder is None:
        job.cancel().result()
        return None
    return job.savepoint(whole_path(folder or None), "cancel").result()


def commanded(record: JobRecord) -> Job:
    """The job, for commands; rejected when it has no driver to receive them."""
    await_owners([record])
    owner, state = record.owner(), record.observed_state()
    if state.status.is_globally_terminal_state():
        raise ConfigurationError(f"job {record.job_id} has ended: {state.status.name}")
    if owner is None or not owner.is_alive:
        raise ConfigurationError(
            f"the driver of job {record.job_id} is gone; `funke recover {record.job_id}` goes on with the job"
        )
    return RemoteJob(record)


def whole_path(folder: str | None) -> str | None:
    """A path that means the same to the driver, which may have another working folder."""
    return folder if folder is None or "://" in folder or folder.startswith("file:") else os.path.abspath(folder)
