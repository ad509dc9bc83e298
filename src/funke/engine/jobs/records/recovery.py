"""Runs of programs that can be repeated: which of their jobs have a record, which go on, which have ended already."""

from __future__ import annotations

import functools
import os
import secrets
import sys
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace

from funke.engine.config import flink_options as options
from funke.engine.config import rest_options
from funke.engine.config.secret_keys import is_secret, without_secrets
from funke.engine.config.settings import Settings
from funke.engine.errors import StateError
from funke.engine.jobs.records.job_record import (
    JobRecord,
    OwnedRecord,
    await_owners,
    home_folder,
    read_records,
    remove_oldest,
)
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.jobs.records.recorded_job import EndedJob
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.submission.own_pages import wants_own_pages
from funke.engine.runtime.snapshots.snapshot_files import join_path

__all__ = ["RUN_VARIABLE", "ProgramRun", "RecoveryTries", "admit_if_asked", "interrupted_runs", "recovery_command"]

# Tells a program that is run again which of its earlier runs it continues.
RUN_VARIABLE = "FUNKE_RECOVERED_RUN"
# And what is decided about checkpoints that are damaged.
_DAMAGE_VARIABLE = "FUNKE_RECOVERY_ON_DAMAGE"
# How a program is run that knows options on its command line; after the interpreter.
_FUNKE_RUN = ("-m", "funke", "run")
_OF_MACHINE = (options.FUNKE_HOME.key, rest_options.SLOT_POOL.key)
# Longer than a program takes to claim its jobs; it doubles from try to try, unless the job has got further.
_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 600.0


class ProgramRun:
    """One run of a program, whose jobs get records in the order in which they are submitted."""

    def __init__(
        self, command: Sequence[str], working_folder: str, run_id: str | None = None, on_damage: str | None = None
    ) -> None:
        self._command = tuple(command)
        self._working_folder = working_folder
        self._is_repeated = run_id is not None
        self._run_id = run_id or secrets.token_hex(8)
        self._submitted = 0
        # What was decided about damage for this run, if anything.
        self._on_damage = on_damage

    @staticmethod
    def of_this_process(
        command: Sequence[str] | None = None, environ: MutableMapping[str, str] | None = None
    ) -> ProgramRun:
        """The run of the program that this process runs, which may continue an earlier one."""
        environ = os.environ if environ is None else environ
        command_line = [sys.executable, *sys.orig_argv[1:]] if command is None else command
        # Taken out: programs that this one starts are runs of their own.
        return ProgramRun(
            command_line, os.getcwd(), environ.pop(RUN_VARIABLE, None), environ.pop(_DAMAGE_VARIABLE, None)
        )

    def admit(self, settings: JobSettings) -> JobSettings | EndedJob:
        """The settings with the record of the next job; or that job, if it had ended in an earlier run."""
        ordinal, self._submitted = self._submitted, self._submitted + 1
        configured = Settings(settings.configuration)
        home = home_folder(configured)
        earlier = self._earlier_job(home, ordinal) if self._is_repeated else None
        if earlier is not None and earlier.has_checkpoints:
            return _continued(earlier, settings, self._on_damage)
        record = self._new_record(home, ordinal, settings)
        try:
            remove_oldest(home, configured)
            return replace(settings, record=OwnedRecord.create(record))
        except (OSError, StateError):
            store_of(record.folder).remove_folder(record.folder)
            if record.has_checkpoints:
                raise
            return settings  # such a job is known to its own driver alone

    def _earlier_job(self, home: str, ordinal: int) -> JobRecord | None:
        records = (record for record in read_records(home) if record.run_id == self._run_id)
        return next((record for record in records if record.ordinal == ordinal), None)

    def _new_record(self, home: str, ordinal: int, settings: JobSettings) -> JobRecord:
        job_id = secrets.token_hex(16)
        return JobRecord(
            folder=join_path(home, f"jobs/{job_id}"),
            job_id=job_id,
            name=settings.job_name,
            run_id=self._run_id,
            ordinal=ordinal,
            command=without_secrets(self._command),
            working_folder=self._working_folder,
            # The program, or what it is configured by, knows its secrets when it is run again.
            configuration={key: value for key, value in settings.configuration.items() if not is_secret(key)},
            started_ms=int(time.time() * 1000),
            has_checksums=True,
        )


def _continued(record: JobRecord, settings: JobSettings, on_damage: str | None) -> JobSettings | EndedJob:
    if record.state().status.is_globally_terminal_state():
        return EndedJob(record)
    owned = OwnedRecord.take(record)
    # It may have ended while this driver waited for the lease.
    if owned.restored.status.is_globally_terminal_state():
        owned.put_status(owned.restored.status)
        owned.release()
        return EndedJob(record)
    # Not of the record: secrets, and folders of the machine that this driver runs on.
    own = {key: value for key, value in settings.configuration.items() if is_secret(key) or key in _OF_MACHINE}
    decided = {options.RECOVERY_ON_DAMAGE.key: on_damage} if on_damage else {}
    return replace(settings, configuration={**record.configuration, **own, **decided}, record=owned)


@functools.cache
def _run_of_this_process() -> ProgramRun:
    return ProgramRun.of_this_process()


def admit_if_asked(settings: JobSettings) -> JobSettings | EndedJob:
    """Gives a job a record if the configuration asks for one and it has none yet."""
    configured = Settings(settings.configuration)
    if settings.record is not None or not (is_highly_available(configured) or wants_own_pages(configured)):
        return settings
    return _run_of_this_process().admit(settings)


def is_highly_available(settings: Settings) -> bool:
    """Whether the configuration asks for job records, however the program was started."""
    return str(settings.get(options.HIGH_AVAILABILITY) or "NONE").upper() != "NONE"


def interrupted_runs(home: str) -> dict[str, list[JobRecord]]:
    """The runs of programs whose driver is gone while a job of theirs had not ended, with these jobs."""
    by_run: dict[str, list[JobRecord]] = {}
    records = list(read_records(home))
    await_owners(records)
    for record in records:
        if record.observed_state().status.is_globally_terminal_state():
            continue
        owner = record.owner()
        if owner is None or not owner.is_alive:
            by_run.setdefault(record.run_id, []).append(record)
    return by_run


@dataclass(frozen=True)
class _Try:
    at: float
    pause_s: float
    checkpoint: str | None


class RecoveryTries:
    """When a standby may try again to go on with a run: not at once, ever more rarely, and not without a decision."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, _Try] = {}

    def begins(self, record: JobRecord) -> bool:
        """Whether it is tried now, which counts as a try."""
        state, last, now = record.observed_state(), self._last.get(record.run_id), self._clock()
        if last is not None and (state.is_refused or now - last.at < last.pause_s):
            return False
        is_further = last is None or state.checkpoint != last.checkpoint
        pause_s = _PAUSE_S if last is None or is_further else min(2 * last.pause_s, _LONGEST_PAUSE_S)
        self._last[record.run_id] = _Try(now, pause_s, state.checkpoint)
        return True


def recovery_command(
    record: JobRecord, properties: Sequence[str] = (), on_damage: str | None = None
) -> tuple[tuple[str, ...], str, dict[str, str]]:
    """What to start where, and with which further environment, to go on with a run of a program.

    `properties` are further options for `funke run`: secrets that were given so the first time are not kept.
    `on_damage` is what to do about checkpoints that are damaged.
    """
    if not os.path.isdir(record.working_folder):
        raise StateError(f"job {record.job_id} was started in '{record.working_folder}', which no longer exists")
    command = list(record.command)
    if properties and command[1:4] == list(_FUNKE_RUN):
        command[4:4] = [f"-D{text}" for text in properties]
    decided = {_DAMAGE_VARIABLE: on_damage} if on_damage is not None else {}
    return tuple(command), record.working_folder, {RUN_VARIABLE: record.run_id, **decided}
