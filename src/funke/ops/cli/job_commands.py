"""`funke list`, `status`, `cancel`, `savepoint` and `stop`: looks at jobs of other processes and commands them."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from typing import Any

from funke.engine.errors import ConfigurationError, FunkeError, UnsupportedFeatureError
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.job import Job
from funke.engine.jobs.records.job_record import JobRecord, JobState, home_folder, read_records
from funke.engine.jobs.records.recorded_job import RemoteJob, recorded_view
from funke.engine.jobs.views.back_pressure import PressureView
from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import JobView
from funke.ops.cli.known_jobs import find_job
from funke.ops.cli.properties import settings_with
from funke.ops.cli.terminal import CommandParser, finish, is_looked_at, new_parser, print_json, say, show_table, waiting
from funke.ops.service.client import ServiceClient
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["cancel_job", "home_of", "job_parser", "list_jobs", "show_status", "stop_job", "take_savepoint"]

_WIDTH = 62


def job_parser(command: str, description: str) -> CommandParser:
    """A parser for a command on jobs."""
    parser = new_parser(command, description)
    parser.add_argument("-m", "--jobmanager", metavar="HOST:PORT", help="the service that must be theirs")
    return parser


def home_of(given: Namespace) -> str:
    """Where job records are kept, by the configuration file, the environment and `-D` options."""
    home = home_folder(settings_with(given.properties))
    if given.jobmanager is not None:
        ServiceClient(ServiceFolder(home)).require(given.jobmanager)
    return home


def list_jobs(arguments: list[str]) -> None:
    """Print running jobs, jobs whose driver is gone, and on request those that have ended."""
    parser = job_parser("list", "shows jobs")
    parser.add_argument("-r", "--running", action="store_true", help="only jobs that run")
    parser.add_argument("-a", "--all", action="store_true", help="also jobs that have ended")
    given = parser.parse_args(arguments)
    running, lost, ended = _by_kind(home_of(given))
    if given.json:
        shown = [*running, *([] if given.running else lost), *(ended if given.all else [])]
        print_json([_to_entry(record, state, (record, state) in lost) for record, state in shown])
        return
    _print_jobs("Running/Restarting Jobs", running, "No running jobs.")
    if not given.running and lost:
        _print_jobs("Jobs without a Driver (funke recover)", lost, "")
    if given.all:
        _print_jobs("Terminated Jobs", ended, "No terminated jobs.")


def _to_entry(record: JobRecord, state: JobState, is_lost: bool) -> dict[str, Any]:
    return {
        "id": record.job_id,
        "name": record.name,
        "status": state.status.name,
        "started_ms": record.started_ms,
        "ended_ms": state.ended_ms,
        "has_driver": not is_lost and not state.status.is_globally_terminal_state(),
        "checkpoint": state.checkpoint,
    }


_Listed = list[tuple[JobRecord, JobState]]


def _by_kind(home: str) -> tuple[_Listed, _Listed, _Listed]:
    running: _Listed = []
    lost: _Listed = []
    ended: _Listed = []
    for record in read_records(home):
        state, owner = record.observed_state(), record.owner()
        if state.status.is_globally_terminal_state():
            ended.append((record, state))
        else:
            (running if owner is not None and owner.is_alive else lost).append((record, state))
    return running, lost, ended


def _print_jobs(title: str, jobs: _Listed, otherwise: str) -> None:
    if not jobs:
        print(otherwise)
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
    given = parser.parse_args(arguments)
    record = find_job(home_of(given), given.job_id)
    state, owner = record.observed_state(), record.owner()
    is_running = owner is not None and owner.is_alive and not state.status.is_globally_terminal_state()
    view, error = _view_of(record, is_running)
    if given.json:
        print_json(view)
        return
    print(f"Job: {view.job_id} : {view.name}")
    print(f"Status: {view.status.name}")
    if owner is not None:
        alive = "runs" if owner.is_alive else "is gone"
        print(f"Driver: process {owner.pid} on {owner.host}, attempt {owner.attempt}, {alive}")
    _show_parts(view, error)
    print(f"Last checkpoint: {state.checkpoint or 'none'}")
    for failure in reversed(view.exceptions):
        print(f"Failure: {failure.message.splitlines()[0]}")


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
    found = view.checkpoints
    print(f"Checkpoints: {found.completed} completed, {found.failed} failed, {found.in_progress} in progress")
    if found.last_failure:
        print(f"Last failed checkpoint: {found.last_failure}")


def _pressure_line(pressure: PressureView) -> str:
    return (
        f"busy {pressure.busy:.0%}, backpressure {pressure.status.name} ({pressure.ratio:.0%}), "
        f"input buffers {pressure.in_usage:.0%}, output buffers {pressure.out_usage:.0%}: {pressure.diagnosis.value}"
    )


def cancel_job(arguments: list[str]) -> None:
    """Cancel a running job and wait until it has ended."""
    parser = job_parser("cancel", "cancels a running job")
    parser.add_argument("job_id")
    given = parser.parse_args(arguments)
    record = find_job(home_of(given), given.job_id)
    say(given, f"Cancelling job {record.job_id}.")
    with waiting("cancelling"):
        _commanded(record).cancel().result()
    say(given, f"Cancelled job {record.job_id}.")
    finish(given, id=record.job_id, status="CANCELED")


def take_savepoint(arguments: list[str]) -> None:
    """Take a savepoint of a running job, which goes on."""
    parser = job_parser("savepoint", "takes a savepoint of a running job")
    parser.add_argument("-type", "--type", default="canonical", choices=["canonical", "native"])
    parser.add_argument("job_id")
    parser.add_argument("folder", nargs="?")
    given = parser.parse_args(arguments)
    _refuse_native(given.type)
    record = find_job(home_of(given), given.job_id)
    say(given, f"Triggering savepoint for job {record.job_id}.")
    with waiting("writing the savepoint"):
        path = _commanded(record).savepoint(_absolute(given.folder)).result()
    say(given, f"Savepoint completed. Path: {path}")
    say(given, f"To start from it: funke run -s {path} program.py")
    finish(given, id=record.job_id, path=path)


def stop_job(arguments: list[str]) -> None:
    """Take a savepoint of a running job and end it there."""
    parser = job_parser("stop", "ends a running job with a savepoint")
    parser.add_argument("-p", "--savepointPath", help="folder for the savepoint")
    parser.add_argument("-d", "--drain", action="store_true", help="let all timers fire before the savepoint")
    parser.add_argument("-type", "--type", default="canonical", choices=["canonical", "native"])
    parser.add_argument("job_id")
    given = parser.parse_args(arguments)
    _refuse_native(given.type)
    record = find_job(home_of(given), given.job_id)
    say(given, f'Suspending job "{record.job_id}" with a CANONICAL savepoint.')
    afterwards: Afterwards = "drain and stop" if given.drain else "stop"
    with waiting("writing the savepoint"):
        path = _commanded(record).savepoint(_absolute(given.savepointPath), afterwards).result()
    say(given, f"Savepoint completed. Path: {path}")
    finish(given, id=record.job_id, path=path)


def _refuse_native(kind: str) -> None:
    if kind != "canonical":
        raise UnsupportedFeatureError("savepoints in native format", "savepoints move between state backends")


def _absolute(folder: str | None) -> str | None:
    """The driver may have another working folder."""
    return folder if folder is None or "://" in folder or folder.startswith("file:") else os.path.abspath(folder)


def _commanded(record: JobRecord) -> Job:
    owner, state = record.owner(), record.observed_state()
    if state.status.is_globally_terminal_state():
        raise ConfigurationError(f"job {record.job_id} has ended: {state.status.name}")
    if owner is None or not owner.is_alive:
        raise ConfigurationError(
            f"the driver of job {record.job_id} is gone; `funke recover {record.job_id}` goes on with the job"
        )
    return RemoteJob(record)
