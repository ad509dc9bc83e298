"""`funke recover`: goes on with jobs whose driver is gone, by running their programs again."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence

from funke.engine.config.flink_options import ON_DAMAGE
from funke.engine.config.job_defaults import hidden_options
from funke.engine.errors import ConfigurationError, JobExecutionError, StateError
from funke.engine.jobs.checkpoints.checkpoints import METADATA
from funke.engine.jobs.records.job_record import JobRecord, await_owners
from funke.engine.jobs.records.recovery import RecoveryTries, interrupted_runs, recovery_command
from funke.engine.runtime.snapshots.snapshot_files import file_size, join_path, local_path
from funke.ops.cli.job_commands import home_of, job_parser
from funke.ops.cli.known_jobs import find_job
from funke.ops.cli.terminal import finish, say

__all__ = ["recover", "watch"]

_WATCH_S = 1.0


def recover(arguments: list[str]) -> None:
    """Run programs again whose jobs had not ended; each goes on from its last completed checkpoint."""
    parser = job_parser("recover", "goes on with jobs whose driver is gone")
    parser.add_argument("-a", "--all", action="store_true", help="all jobs that were running")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="stay, and go on with all jobs that lose their driver"
    )
    parser.add_argument(
        "--on-damage",
        choices=ON_DAMAGE,
        help="what to do when the newest checkpoint or the record is damaged; see funke.recovery.on-damage",
    )
    parser.add_argument("job_id", nargs="?")
    options = parser.parse_args(arguments)
    if (options.all or options.watch) == (options.job_id is not None):
        raise ConfigurationError("name a job, or give --all; `funke list` shows jobs without a driver")
    home = home_of(options)
    if options.watch:
        watch(home, threading.Event(), options.properties, options.on_damage)
        return
    if options.all:
        records = [records[0] for records in interrupted_runs(home).values()]
    else:
        records = [_interrupted(home, find_job(home, options.job_id))]
    # Before: a program prints what it likes.
    finish(options, recovering=[{"id": each.job_id, "name": each.name} for each in records])
    if not records:
        say(options, "No jobs to recover.")
    elif options.all:
        _run_all(records, options.properties, options.on_damage)
    else:
        _become(records[0], options.properties, options.on_damage)


def _interrupted(home: str, record: JobRecord) -> JobRecord:
    await_owners([record])
    state, owner = record.observed_state(), record.owner()
    if state.status.is_globally_terminal_state():
        raise ConfigurationError(f"job {record.job_id} has ended ({state.status.name}); there is nothing to recover")
    if owner is not None and owner.is_alive:
        raise ConfigurationError(f"job {record.job_id} is run by process {owner.pid} on {owner.host}")
    return record


def _become(record: JobRecord, properties: list[str], on_damage: str | None) -> None:
    """Turns this process into the program's: signals and the exit code are those of the job."""
    command, folder, variables = recovery_command(record, properties, on_damage)
    visible, hidden = hidden_options(command)
    _announce(record)
    os.chdir(folder)
    os.execvpe(visible[0], visible, {**os.environ, **hidden, **variables})


def _run_all(records: list[JobRecord], properties: list[str], on_damage: str | None) -> None:
    started = [(record, _start(record, properties, on_damage)) for record in records]
    failed = [record for record, process in started if process.wait() != 0]
    if failed:
        raise JobExecutionError("not all programs ended well: " + ", ".join(record.job_id for record in failed))


def watch(home: str, stopped: threading.Event, properties: Sequence[str] = (), on_damage: str | None = None) -> None:
    """A standby: starts every program whose driver is gone, until it is stopped; the programs continue then."""
    tries = RecoveryTries()
    children: list[subprocess.Popen[bytes]] = []
    while not stopped.wait(_WATCH_S):
        # Asking each child whether it has ended also lets the system forget it.
        children = [child for child in children if child.poll() is None]
        for records in interrupted_runs(home).values():
            if tries.begins(records[0]):
                children.append(_start(records[0], properties, on_damage))


def _start(record: JobRecord, properties: Sequence[str], on_damage: str | None) -> subprocess.Popen[bytes]:
    command, folder, variables = recovery_command(record, properties, on_damage)
    _announce(record)
    visible, hidden = hidden_options(command)
    return subprocess.Popen(visible, cwd=folder, env={**os.environ, **hidden, **variables})


def _announce(record: JobRecord) -> None:
    print(f"Recovering job {record.job_id} ({record.name}) from {_start_of(record)}.", flush=True)


def _start_of(record: JobRecord) -> str:
    """The value in the record; if it is missing, that of the driver."""
    try:
        checkpoint = record.state().checkpoint
    except StateError as error:
        return f"what is left of it: {error}"
    if checkpoint is None:
        return "its start" if record.has_state else "what is left of it: its record has lost its state"
    is_there = local_path(checkpoint) is None or file_size(join_path(checkpoint, METADATA)) is not None
    return checkpoint if is_there else f"a checkpoint before {checkpoint}, which is gone"
