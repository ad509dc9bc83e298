"""The dispatcher: takes programs, sees to it that their jobs go on, and answers requests; what it knows is on disk."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config import rest_options
from funke.engine.config.secret_keys import masked_command
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, FunkeError, JobExecutionError, LeaseLostError, StateError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.attempts.slot_pool import SlotPool
from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord
from funke.engine.jobs.records.recovery import RecoveryTries, recovery_command
from funke.engine.jobs.views.job_view import JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.cli.arguments import ProgramCall, parse_program_call
from funke.ops.rest.cluster_state import Slots
from funke.ops.rest.job_directory import JobDirectory, KnownJob
from funke.ops.rest.rescale_history import RescaleHistory
from funke.ops.service.free_cores import FreeCores
from funke.ops.service.log_rotation import rotate
from funke.ops.service.program_plan import plan_of_program
from funke.ops.service.program_runs import ProgramRuns, RunRecord
from funke.ops.service.service_folder import ServiceFolder
from funke.ops.service.warm_driver import IdleDriver

__all__ = ["Dispatcher", "slots_of"]

_LOG = logging.getLogger(__name__)
# A driver that waits for its program and has died is not followed by another one at once.
_PAUSE_S = 30.0
_FIRST_JOB_S = 120.0
# A driver that has just been started has the processors to itself until then.
_SETTLED_S = 10.0
# The next one takes some seconds of a core to start, which jobs would miss: it waits until that much has been free for
# so many looks, and where nothing ever is, for five minutes, of which those seconds are a small part.
_FREE_CORES = 0.8
_FREE_LOOKS = 3
_SETTLED_BUSY_S = 300.0
_CANCEL_S = 60.0
_RETRY_S = 0.2
_FUNKE_RUN = ["-m", "funke", "run"]
_WARM_DRIVER = "funke.ops.service.warm_driver"
# Without a setting: each slot is a process, most of which wait most of the time.
_SLOTS_PER_CORE = 8
_FEWEST_SLOTS = 16


def slots_of(settings: Settings) -> int:
    """How many slots the service has."""
    if settings.is_set(options.TASK_SLOTS):
        return int(settings.get(options.TASK_SLOTS))
    return max(_FEWEST_SLOTS, _SLOTS_PER_CORE * (os.cpu_count() or 1))


class _NotEndedError(JobExecutionError):
    """A job that does not start cannot be ended either: another one in its stead would write the same."""


@dataclass
class Dispatcher:
    """What the service does for programs and jobs."""

    service: ServiceFolder
    settings: Settings
    jobs: JobDirectory
    # Raises LeaseLostError when another service has taken over: called before a program is started.
    guard: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.runs = ProgramRuns(self.service, self.guard)
        self.pool = SlotPool(self.service.of("slots"))
        self.pool.open(slots_of(self.settings))
        self.rescales = RescaleHistory(self.service.of("rescales"), self.settings.get(rest_options.RESCALE_HISTORY))
        self.stopping = threading.Event()
        self._is_cancelling = True
        self._tries = RecoveryTries()
        self._idle: IdleDriver | None = None
        self._idle_lock = threading.Lock()
        self._is_announced = False
        self._last_start = -math.inf
        self._free_cores = FreeCores()
        self._free_looks = 0
        self.runs.forget_dismissed()

    # Slots

    def count(self) -> Slots:
        """How many slots there are, and how many are free."""
        return Slots(self.pool.total, self.pool.free)

    # Programs

    @property
    def is_upload_allowed(self) -> bool:
        """Whether programs may be sent over REST."""
        return bool(self.settings.get(rest_options.WEB_SUBMIT))

    @property
    def folder(self) -> str:
        """Where programs that were sent are kept."""
        return self.settings.get(rest_options.WEB_UPLOAD_FOLDER) or self.service.of("programs")

    def start(self, arguments: list[str], working_folder: str, python: str = sys.executable) -> str:
        """Starts `funke run` with arguments; returns the id of the run."""
        call = parse_program_call(arguments)
        if not call.has_program:
            raise ConfigurationError("name the program to run")
        if call.file is not None and not os.path.isfile(os.path.join(working_folder, call.file)):
            raise ConfigurationError(f"there is no file '{call.file}' in {working_folder}")
        if not os.path.isdir(working_folder):
            raise ConfigurationError(f"there is no folder '{working_folder}' to run the program in")
        own = self.job_options()
        command = [python, *_FUNKE_RUN, *(f"-D{key}={value}" for key, value in own.items()), *arguments]
        record = self.runs.start(command, working_folder, self._idle_for(call, python), command[4:])
        _LOG.info("run %s: %s", record.run_id, masked_command(record.command))
        return record.run_id

    def job_options(self) -> dict[str, str]:
        """What jobs of the service are told: which slots they share, and where their records are."""
        return {rest_options.SLOT_POOL.key: self.service.of("slots"), **self._folders()}

    def _idle_for(self, call: ProgramCall, python: str) -> IdleDriver | None:
        """The driver that waits, if it is as a new one would be; it is the caller's from now on."""
        self._last_start = time.monotonic()
        has_own_spark = any(key.startswith("spark.") for key in call.options)
        with self._idle_lock:
            if self._idle is None or python != sys.executable or has_own_spark:
                return None
            idle, self._idle = self._idle, None
        if not idle.is_usable:
            self.runs.dismiss(idle)
            return None
        return idle

    def keep_warm(self) -> None:
        """Starts a driver for the next program, if that is enabled, none is waiting and no program is just starting."""
        master = self.settings.raw("spark.master") or os.environ.get("FUNKE_SPARK_MASTER", "local")
        is_wanted = self.settings.get(rest_options.WARM_DRIVER) and str(master).startswith("local")
        self._free_looks = self._free_looks + 1 if self._free_cores.since_last_look() >= _FREE_CORES else 0
        if not is_wanted or self.stopping.is_set() or not self._is_settled():
            return
        with self._idle_lock:
            if self._idle is not None and not self._idle.is_usable:
                self.runs.dismiss(self._idle)
                self._idle, self._last_start = None, time.monotonic() + _PAUSE_S
            elif self._idle is None:
                self._idle, self._is_announced = self.runs.prepare([sys.executable, "-m", _WARM_DRIVER]), False
            elif not self._is_announced and self._idle.is_ready():
                self._is_announced = True
                _LOG.info("a driver is ready for the next program")

    def _is_settled(self) -> bool:
        """Whether what was started last has all that it needs, and something is left."""
        since_s = time.monotonic() - self._last_start
        return since_s >= (_SETTLED_S if self._free_looks >= _FREE_LOOKS else _SETTLED_BUSY_S)

    def _folders(self) -> dict[str, str]:
        """What says where job records are: those of the service's programs are beside the service's own."""
        named = (options.FUNKE_HOME, options.HIGH_AVAILABILITY_STORAGE, options.HIGH_AVAILABILITY_CLUSTER)
        return {option.key: self.settings.get(option) for option in named if self.settings.is_set(option)}

    def submit(self, arguments: list[str], working_folder: str) -> str:
        """The same; returns the id of the first job, once there is one."""
        return self.first_job(self.start(arguments, working_folder))

    def plan(self, arguments: list[str], working_folder: str) -> dict[str, Any]:
        """The plan of a program, which is run up to its first job by a process that ends then."""
        return plan_of_program(arguments, working_folder)

    def first_job(self, run_id: str, limit_s: float = _FIRST_JOB_S) -> str:
        """The id of a run's first job; JobExecutionError when the program ends without one."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            is_alive = self.runs.is_alive(run_id)
            jobs = self.jobs_of(run_id)
            if jobs:
                return jobs[0].job_id
            if not is_alive:
                raise JobExecutionError(f"the program ended without a job:\n{self.runs.log_end(run_id)}".rstrip())
            self.stopping.wait(0.1)
        raise JobExecutionError(f"the program has not submitted a job within {limit_s:g} s; its run is {run_id}")

    def jobs_of(self, run_id: str) -> list[KnownJob]:
        """The jobs of a run so far."""
        return [job for job in self.jobs.all() if job.record.run_id == run_id]

    def rescale(self, job_id: str, parallelism: int) -> str:
        """Ends a job with a savepoint and starts its program anew from there; returns the new job's id.

        JobExecutionError when no job runs with that parallelism; then one continues with the previous parallelism.
        """
        job = self.jobs.find(job_id)
        if job is None:
            raise StateError(f"there is no job {job_id}")
        call, python = _program_of(job.record)
        view = job.view()
        self._require_room(view, parallelism)
        with self.rescales.recording(view, parallelism) as record:
            has_folder = bool(Settings(job.record.configuration).get(options.SAVEPOINT_DIRECTORY))
            path = job.commanded().savepoint(None if has_folder else self.service.of("savepoints"), "stop").result()
            record.has_stopped()
            changed = {
                **call.options,
                options.STATE_RECOVERY_PATH.key: path,
                # Files in this folder have no other owner: they are removed when the job does not need them any more.
                **({} if has_folder else {options.STATE_CLAIM_MODE.key: "CLAIM"}),
            }
            new_parallelism = {options.PARALLELISM.key: str(parallelism)}
            try:
                record.goes_on_as(
                    self._start_from(job.record, replace(call, options={**changed, **new_parallelism}), python)
                )
            except _NotEndedError:
                raise
            except FunkeError as error:
                record.goes_on_as(self._go_back(job.record, replace(call, options=changed), python, path, error))
                raise JobExecutionError(
                    f"no job runs with a parallelism of {parallelism}: {error}; job {record.rescale.successor} "
                    "continues with the previous parallelism"
                ) from error
            assert record.rescale.successor is not None
            return record.rescale.successor

    def _require_room(self, view: JobView, parallelism: int) -> None:
        """Before the job is stopped: what must fail afterwards is rejected."""
        free = self.pool.free + sum(use.slots for use in self.pool.uses() if use.job_id == view.job_id)
        if parallelism > free:
            raise ConfigurationError(
                f"a parallelism of {parallelism} needs as many slots, and there are {free} for the job "
                f"({self.pool.total} in all); choose a lower one, or start the service with more "
                "(taskmanager.numberOfTaskSlots)"
            )
        narrow = min(view.vertices, key=lambda vertex: vertex.max_parallelism, default=None)
        if narrow is not None and parallelism > narrow.max_parallelism:
            raise ConfigurationError(
                f"'{narrow.name}' has a maximum parallelism of {narrow.max_parallelism}, which its state was written "
                f"with; it cannot run with {parallelism}"
            )

    def _start_from(self, record: JobRecord, call: ProgramCall, python: str) -> str:
        """Starts a program once more; returns the id of its job when all its subtasks run."""
        own = {rest_options.SLOT_POOL.key, *self._folders()}
        anew = replace(call, options={key: value for key, value in call.options.items() if key not in own})
        run_id = self.start(anew.to_arguments(), record.working_folder, python)
        job_id = self.first_job(run_id)
        try:
            self._await_begin(run_id, job_id)
        except FunkeError as error:
            self._end_for_good(job_id, error)
            raise
        return job_id

    def _await_begin(self, run_id: str, job_id: str) -> None:
        end = time.monotonic() + _FIRST_JOB_S
        while not self._has_begun(run_id, job_id):
            if time.monotonic() > end:
                raise JobExecutionError(f"it has not begun to run within {_FIRST_JOB_S:g} s")
            self.stopping.wait(0.1)

    def _has_begun(self, run_id: str, job_id: str) -> bool:
        """Whether a new job runs or is over; JobExecutionError when it has failed, which a restart may go on to do."""
        is_alive, job = self.runs.is_alive(run_id), self.jobs.find(job_id)
        if job is not None:
            view = job.view()
            if view.status is JobStatus.FINISHED:
                return True
            if view.exceptions or view.status.is_globally_terminal_state():
                raise JobExecutionError(_why_ended(view))
            if view.status is JobStatus.RUNNING and _all_run(view):
                return True
        if not is_alive:
            raise JobExecutionError(f"its program ended:\n{self.runs.log_end(run_id)}".rstrip())
        return False

    def _end_for_good(self, job_id: str, reason: FunkeError) -> None:
        """Ends a job that has not begun: neither its own restart strategy nor this service continues it."""
        job = self.jobs.find(job_id)
        if job is None or job.seen.status.is_globally_terminal_state():
            return
        try:
            if job.is_driven:
                job.commanded().cancel().result(_CANCEL_S)
            else:
                owned = OwnedRecord.take(job.record)
                owned.put_status(JobStatus.CANCELED)
                owned.release()
        except (FunkeError, TimeoutError) as error:
            raise _NotEndedError(f"{reason}; and its job {job_id} could not be cancelled: {error}") from error

    def _go_back(self, record: JobRecord, call: ProgramCall, python: str, savepoint: str, reason: FunkeError) -> str:
        """The job continues as it was before."""
        try:
            return self._start_from(record, call, python)
        except FunkeError as error:
            raise JobExecutionError(
                f"{reason}; and with the previous parallelism: {error}; the job is saved in '{savepoint}', from which "
                "`funke run -s` continues"
            ) from error

    # Looking after them

    def look(self) -> None:
        """One look: which programs have ended, and which jobs have lost their driver."""
        self.runs.note_ends()
        for run_id, record in self._lost().items():
            if self._tries.begins(record):
                self._recover(run_id, record)
        self._forget_oldest()
        most, kept = self.settings.get(rest_options.LOG_MAX_SIZE), self.settings.get(rest_options.LOG_FILES)
        rotate(self.service.of("logs"), most or 0, kept)

    def _lost(self) -> dict[str, JobRecord]:
        """Jobs of the service's programs that had not ended when their driver did, one for each program."""
        records: dict[str, JobRecord] = {}
        for job in self.jobs.all():
            if not job.is_driven and not job.seen.status.is_globally_terminal_state():
                run_id = job.record.run_id
                if self.runs.find(run_id) is not None and not self.runs.is_alive(run_id):
                    records.setdefault(run_id, job.record)
        return records

    def _recover(self, run_id: str, record: JobRecord) -> None:
        run = self.runs.find(run_id)
        if run is None:
            return
        try:
            command, _, _ = recovery_command(record)
            self.runs.start_again(run, self._on_this_machine(command))
            checkpoint = record.observed_state().checkpoint
            _LOG.info("run %s continues job %s from %s", run_id, record.job_id, checkpoint)
        except LeaseLostError:
            raise
        except (FunkeError, OSError) as error:
            _LOG.error("job %s cannot continue: %s", record.job_id, error)

    def _on_this_machine(self, command: Sequence[str]) -> list[str]:
        """A command that a service of another machine may have started, with the folders of this one."""
        own = {f"-D{key}": value for key, value in self.job_options().items()}
        options_and_rest = (each.partition("=") for each in command)
        return [
            f"{key}={own[key]}" if mark and key in own else key + mark + rest for key, mark, rest in options_and_rest
        ]

    def _forget_oldest(self) -> None:
        """Programs whose jobs are forgotten, and that have ended, are forgotten as well."""
        jobs = self.jobs.all()
        self.rescales.forget({job.job_id for job in jobs})
        run_ids = {job.record.run_id for job in jobs}
        over = [run for run in self.runs.all() if run.ended_ms is not None and run.run_id not in run_ids]
        kept = max(0, self.settings.get(rest_options.MOST_ENDED_JOBS))
        self.runs.forget([run.run_id for run in over[: max(0, len(over) - kept)]])

    # The end

    def shut_down(self, is_cancelling: bool = True) -> None:
        """Ends the service, and the jobs that it looks after unless they are to go on."""
        self._is_cancelling = is_cancelling
        self.stopping.set()

    def close(self) -> None:
        """Ends the driver that waits, and cancels jobs of the service's programs if that is wanted."""
        with self._idle_lock:
            if self._idle is not None:
                self.runs.dismiss(self._idle)
            self._idle = None
        if not self._is_cancelling:
            return
        run_ids = {run.run_id for run in self.runs.all()}
        end = time.monotonic() + _CANCEL_S
        while time.monotonic() < end:
            running = [job for job in self.jobs.all() if job.record.run_id in run_ids and job.is_driven]
            left = [job for job in running if not job.seen.status.is_globally_terminal_state()]
            if not left:
                return
            # One that has just begun may not listen yet, so the command is repeated.
            wait([job.commanded().cancel() for job in left], _CANCEL_S)
            time.sleep(_RETRY_S)


def _why_ended(view: JobView) -> str:
    return view.exceptions[0].message if view.exceptions else f"its job has ended: {view.status.name}"


def _all_run(view: JobView) -> bool:
    """Whether the functions of all subtasks are open; the job counts as running before."""
    states = view.state_counts
    return bool(states) and states.keys() <= {ExecutionState.RUNNING, ExecutionState.FINISHED}


def _program_of(record: JobRecord) -> tuple[ProgramCall, str]:
    command = list(record.command)
    if command[1:4] != _FUNKE_RUN:
        raise StateError(f"job {record.job_id} was not started by `funke run`; its program cannot be restarted")
    return parse_program_call(command[4:]), command[0]


def run_status(dispatcher: Dispatcher, run_id: str) -> dict[str, object]:
    """How a run stands, for a client that waits for it."""
    run: RunRecord | None = dispatcher.runs.find(run_id)
    if run is None:
        raise StateError(f"there is no run {run_id}")
    is_alive = dispatcher.runs.is_alive(run_id)
    return {
        "is_alive": is_alive,
        "jobs": [job.job_id for job in dispatcher.jobs_of(run_id)],
        "exit_code": run.exit_code,
        "log": "" if is_alive else dispatcher.runs.log_end(run_id),
    }
