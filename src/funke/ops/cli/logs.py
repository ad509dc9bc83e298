"""`funke logs`: what the program of a job has printed, if the service runs it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import BinaryIO

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import JobRecord
from funke.ops.cli.job_commands import commanded, home_of, job_parser
from funke.ops.cli.known_jobs import find_job
from funke.ops.cli.terminal import finish, say
from funke.ops.service.log_rotation import rotated_path
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["show_logs"]

_LOOK_S = 0.3
_MOST_AT_ONCE = 1 << 20
# Rotated files that are looked for.
_MOST_ROTATED = 100


def show_logs(arguments: list[str]) -> None:
    """Print the log of a job's program, and with -f what is added to it until the job ends."""
    parser = job_parser("logs", "shows what the program of a job has printed")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    parser.add_argument("--level", metavar="LEVEL", help="from which level on its functions log from now on, and end")
    parser.add_argument("--logger", metavar="NAME", help="with --level: that of one logger and those below it only")
    parser.add_argument("job_id")
    command_line = parser.parse_args(arguments)
    home = home_of(command_line)
    record = find_job(home, command_line.job_id)
    if command_line.level is not None:
        _change_level(command_line, record)
        return
    if command_line.logger is not None:
        parser.error("--logger goes with --level")
    path = ServiceFolder(home).of(f"logs/{record.run_id}.log")
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise ConfigurationError(
            f"the service does not run job {record.job_id}; its program prints where it was started"
        ) from None
    with file:
        for number in reversed(range(1, _MOST_ROTATED)):
            with contextlib.suppress(FileNotFoundError), open(rotated_path(path, number), "rb") as earlier:
                _copy(earlier, _write_json if command_line.json else sys.stdout.write)
        write = _write_json if command_line.json else sys.stdout.write
        _copy(file, write)
        while command_line.follow and _is_running(record):
            time.sleep(_LOOK_S)
            if os.fstat(file.fileno()).st_size < file.tell():
                file.seek(0)  # it was rotated
            _copy(file, write)


def _change_level(command_line: Namespace, record: JobRecord) -> None:
    """The other levels stay as they are."""
    job = commanded(record)
    configured = Settings(job.view().configuration)
    default, overrides = configured.get(options.PYTHON_LOG_LEVEL), configured.get(options.PYTHON_LOG_LEVELS)
    if command_line.logger is None:
        default = command_line.level
    else:
        overrides = {**overrides, command_line.logger: command_line.level}
    job.set_log_levels(default, overrides)
    what = f"The logger {command_line.logger}" if command_line.logger is not None else "Functions"
    say(
        command_line,
        f"{what} of job {record.job_id} log{'s' * (command_line.logger is not None)} from {command_line.level} on.",
    )
    finish(command_line, id=record.job_id, default=default, overrides=overrides)


def _copy(file: BinaryIO, write: Callable[[str], object]) -> None:
    while part := file.read(_MOST_AT_ONCE):
        write(part.decode("utf-8", "replace"))
    sys.stdout.flush()


def _write_json(text: str) -> None:
    """A document for each piece, one to a line: they may be endless."""
    print(json.dumps({"text": text}))


def _is_running(record: JobRecord) -> bool:
    owner = record.owner()
    is_alive = owner is not None and owner.is_alive
    return is_alive and not record.state().status.is_globally_terminal_state()
