"""`funke logs`: what the program of a job has printed, if the service runs it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import BinaryIO

from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.job_record import JobRecord
from funke.ops.cli.job_commands import home_of, job_parser
from funke.ops.cli.known_jobs import find_job
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["show_logs"]

_LOOK_S = 0.3
_MOST_AT_ONCE = 1 << 20


def show_logs(arguments: list[str]) -> None:
    """Print the log of a job's program, and with -f what is added to it until the job ends."""
    parser = job_parser("logs", "shows what the program of a job has printed")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    parser.add_argument("job_id")
    given = parser.parse_args(arguments)
    home = home_of(given)
    record = find_job(home, given.job_id)
    path = ServiceFolder(home).of(f"logs/{record.run_id}.log")
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise ConfigurationError(
            f"the service does not run job {record.job_id}; its program prints where it was started"
        ) from None
    with file:
        write = _write_json if given.json else sys.stdout.write
        _copy(file, write)
        while given.follow and _is_running(record):
            time.sleep(_LOOK_S)
            _copy(file, write)


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
