"""A driver that was started before there is a program for it: `python -m funke.ops.service.warm_driver <descriptor>`.

Interpreter, libraries and, on embedded Spark, Spark itself take seconds to start. One process has done all of it, runs
the next program that the service is given, and ends with that: nothing is shared between two programs. It is told what
to run by the one connection that it has inherited, and ends with the service as long as it has nothing to run.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from funke.engine.config.job_defaults import job_defaults
from funke.engine.jobs.records.recovery import RUN_VARIABLE
from funke.engine.types.json_form import from_json, to_json
from funke.ops.cli.main import main as run_command

__all__ = ["IdleDriver", "main"]

# One that is still starting has nothing to lose; what it has started ends with it.
_END_S = 1.0
# What it says to the service.
_READY, _HEARD = b"r", b"h"
# What most programs load, and what runs their jobs.
_LIBRARIES = (
    "funke.datastream",
    "funke.datastream.connectors",
    "funke.table",
    "funke.datastream.job_submission",
    "funke.engine.jobs.submission.submission",
)


@dataclass(frozen=True)
class Order:
    """What a driver is to run, after `funke run`, and where."""

    arguments: tuple[str, ...]
    working_folder: str


@dataclass
class IdleDriver:
    """The service's end: a process that waits for its program."""

    # Under which the program will run: its log, and the file that says that it lives, are in use already.
    run_id: str
    process: subprocess.Popen[bytes]
    line: socket.socket
    # The command to run, with secrets; kept in case the process died before it read it.
    command: tuple[str, ...] = field(default=(), repr=False)
    # What it has said so far.
    received: bytes = b""

    @property
    def is_usable(self) -> bool:
        """Whether it can be given a program."""
        return self.process.poll() is None

    def hand_over(self, command: Sequence[str], arguments: Sequence[str], working_folder: str) -> bool:
        """Gives it its program; False when it is gone."""
        self.command = tuple(command)
        order = json.dumps(to_json(Order(tuple(arguments), working_folder)))
        try:
            self.line.sendall(order.encode() + b"\n")
        except OSError:
            return False
        return True

    def is_ready(self) -> bool:
        """Whether it has done all that it can do without a program."""
        return _READY in self._received()

    def has_heard(self) -> bool:
        """Whether it has begun with its program; asked once, when its process has ended."""
        with self.line:
            return _HEARD in self._received()

    def _received(self) -> bytes:
        with contextlib.suppress(OSError):  # nothing new
            self.received += self.line.recv(16, socket.MSG_DONTWAIT)
        return self.received

    def end(self) -> None:
        """Ends a process that has no program."""
        self.line.close()
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Gets ready, then runs the one program of its command."""
    descriptor = int((sys.argv[1:] if arguments is None else arguments)[0])
    # The folder it was started in is not an import path.
    while sys.path and os.path.realpath(sys.path[0] or os.curdir) == os.getcwd():
        sys.path.pop(0)
    # Of the program, and of no process that is started before.
    run_id = os.environ.pop(RUN_VARIABLE, "")
    with socket.socket(fileno=descriptor) as line:
        line.set_inheritable(False)
        _get_ready(line)
        with contextlib.suppress(OSError):  # the service is gone; it may have left a program
            line.send(_READY)
        order = _order_from(line)
        if order is None:
            return 0
        with contextlib.suppress(OSError):  # the service is gone; the program was taken all the same
            line.send(_HEARD)
    os.environ[RUN_VARIABLE] = run_id
    os.chdir(order.working_folder)
    sys.path.insert(0, os.getcwd())  # as Python does for `python -m funke`
    return run_command(["run", *order.arguments])


def _get_ready(line: socket.socket) -> None:
    # Whatever is missing, the program says so itself when it needs it.
    with contextlib.suppress(Exception):
        from funke.engine.runtime.spark.spark_session import prepare_spark, start_warm

        settings = job_defaults().to_text_dict()
        prepare_spark(settings)
        for name in _LIBRARIES:
            importlib.import_module(name)
        # One that has its program already starts as any other driver does.
        if not select.select([line], [], [], 0)[0]:
            start_warm(settings)


def _order_from(line: socket.socket) -> Order | None:
    with line.makefile("rb") as lines:
        text = lines.readline()
    return from_json(Order, json.loads(text)) if text.endswith(b"\n") else None


if __name__ == "__main__":
    # Under its real name, and with this module out of the way of the program's `__main__`.
    from funke.ops.service.warm_driver import main as run

    sys.exit(run())
