"""`funke savepoint`, `stop` and `checkpoint`: let jobs of other processes write down their state."""

from __future__ import annotations

from argparse import Namespace
from concurrent.futures import Future, wait
from typing import TypeVar

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.jobs.checkpoints.checkpoints import dispose_checkpoint
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.ops.cli.job_commands import commanded, home_of, job_parser, whole_path
from funke.ops.cli.known_jobs import find_job
from funke.ops.cli.terminal import CommandParser, finish, say, waiting

__all__ = ["stop_job", "take_checkpoint", "take_savepoint"]

_T = TypeVar("_T")
# A driver that cannot do what it is asked for says so at once.
_BEGUN_S = 2.0


def take_savepoint(arguments: list[str]) -> None:
    """Take a savepoint of a running job, which goes on; or remove one."""
    parser = _savepoint_parser("savepoint", "takes a savepoint of a running job, or removes one")
    parser.add_argument("-d", "--dispose", metavar="path", help="remove this savepoint")
    parser.add_argument("job_id", nargs="?")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args(arguments)
    if options.dispose is not None:
        _dispose(options)
        return
    if options.job_id is None:
        parser.error("name the job, or with -d a savepoint to remove")
    _save(options, whole_path(options.folder), "go on", "Triggering savepoint for job {}.")


def stop_job(arguments: list[str]) -> None:
    """Take a savepoint of a running job and end it there."""
    parser = _savepoint_parser("stop", "ends a running job with a savepoint")
    parser.add_argument("-p", "--savepointPath", metavar="folder", help="folder for the savepoint")
    parser.add_argument("-d", "--drain", action="store_true", help="let all timers fire before the savepoint")
    parser.add_argument("job_id")
    options = parser.parse_args(arguments)
    afterwards: Afterwards = "drain and stop" if options.drain else "stop"
    _save(options, whole_path(options.savepointPath), afterwards, 'Suspending job "{}" with a CANONICAL savepoint.')


def take_checkpoint(arguments: list[str]) -> None:
    """Take a checkpoint of a running job before the next one is due."""
    parser = job_parser("checkpoint", "takes a checkpoint of a running job now")
    parser.add_argument("-full", "--full", action="store_true", help="one that shares no files with others")
    parser.add_argument("job_id")
    options = parser.parse_args(arguments)
    record = find_job(home_of(options), options.job_id)
    say(options, f"Triggering checkpoint for job {record.job_id}.")
    with waiting("writing the checkpoint"):
        number = commanded(record).checkpoint(options.full).result()
    kind = "FULL" if options.full else "CONFIGURED"
    say(options, f"Checkpoint({kind}) {number} for job {record.job_id} completed.")
    finish(options, id=record.job_id, checkpoint=number)


def _savepoint_parser(command: str, description: str) -> CommandParser:
    parser = job_parser(command, description)
    parser.add_argument("-type", "--type", default="canonical", choices=["canonical", "native"])
    parser.add_argument("-detached", "--detached", action="store_true", help="do not wait until it is written")
    return parser


def _save(options: Namespace, folder: str | None, afterwards: Afterwards, text: str) -> None:
    if options.type != "canonical":
        raise UnsupportedFeatureError("savepoints in native format", "savepoints move between state backends")
    record = find_job(home_of(options), options.job_id)
    say(options, text.format(record.job_id))
    asked = commanded(record).savepoint(folder, afterwards)
    if options.detached and not _is_answered(asked):
        say(options, f"It goes on in the background; `funke status {record.job_id}` shows when it is complete.")
        finish(options, id=record.job_id, path=None)
        return
    with waiting("writing the savepoint"):
        path = asked.result()
    say(options, f"Savepoint completed. Path: {path}")
    if afterwards == "go on":
        say(options, f"To start from it: funke run -s {path} program.py")
    finish(options, id=record.job_id, path=path)


def _is_answered(asked: Future[_T]) -> bool:
    return bool(wait([asked], _BEGUN_S).done)


def _dispose(options: Namespace) -> None:
    say(options, f"Disposing savepoint '{options.dispose}'.")
    dispose_checkpoint(whole_path(options.dispose) or "")
    say(options, f"Savepoint '{options.dispose}' disposed.")
    finish(options, path=options.dispose, is_removed=True)
