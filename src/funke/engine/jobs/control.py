"""Commands for a running job from other processes, over a Unix socket in the folder of its record.

One line of JSON goes in, `{"command": "cancel", …}`, and one comes back, `{"result": …}` or `{"error": …}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

from funke.engine.errors import FunkeError, JobExecutionError, StateError
from funke.engine.graph.execution_graph import ExecutionVertex
from funke.engine.jobs.savepoints import Afterwards
from funke.engine.trust.peers import connect_to_own, listen_at, require_same_user
from funke.engine.types.job_status import JobStatus

__all__ = ["Commands", "ControlServer", "ask", "serve_commands"]

# By name; each takes the arguments that came with the command.
Commands: TypeAlias = Mapping[str, Callable[..., Any]]

# How long a caller may take to say what it wants.
_COMMAND_S = 5.0


class ControlServer:
    """Answers commands as long as the job runs."""

    def __init__(self, path: str, commands: Commands) -> None:
        self._path = path
        self._commands = commands
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener = listen_at(path)
        threading.Thread(target=self._accept, name="funke-control", daemon=True).start()

    def close(self) -> None:
        """Stops listening; commands that are under way get their answers."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _accept(self) -> None:
        while True:
            try:
                call, _ = self._listener.accept()
            except OSError:
                return
            # Not a daemon: a driver that ends because of a command answers it before.
            threading.Thread(target=self._answer, args=(call,), daemon=False).start()

    def _answer(self, call: socket.socket) -> None:
        with call, contextlib.suppress(OSError), call.makefile("rwb") as stream:
            require_same_user(call)
            call.settimeout(_COMMAND_S)
            line = stream.readline()
            stream.write(json.dumps(self._run(line)).encode() + b"\n")
            stream.flush()

    def _run(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            command = self._commands.get(request.pop("command", ""))
            if command is None:
                raise StateError("the job's driver does not know this command")
            return {"result": command(**request)}
        except FunkeError as error:
            return {"error": str(error)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


class CommandedJob(Protocol):
    """What a job offers to other processes."""

    @property
    def result_future(self) -> Future[Any]:
        """Ends with the job."""

    def status(self) -> JobStatus:
        """Where the job stands."""

    def executions(self) -> list[ExecutionVertex]:
        """Where its subtasks stand."""

    def cancel(self) -> Future[None]:
        """Ends the job."""

    def savepoint(self, folder: str | None, afterwards: Afterwards) -> Future[str]:
        """Takes a savepoint."""


def serve_commands(path: str, job: CommandedJob) -> None:
    """Lets other processes command a job until it ends."""

    def stop(folder: str | None, is_drain: bool) -> str:
        return job.savepoint(folder, "drain and stop" if is_drain else "stop").result()

    server = ControlServer(
        path,
        {
            "status": lambda: job.status().name,
            "tasks": lambda: Counter(each.state.name for each in job.executions()),
            "cancel": lambda: job.cancel().result(),
            "savepoint": lambda folder: job.savepoint(folder, "go on").result(),
            "stop": stop,
        },
    )
    job.result_future.add_done_callback(lambda _: server.close())


def ask(path: str, command: str, **arguments: Any) -> Any:
    """Sends a command to a job's driver and waits for the answer, as long as the driver lives."""
    try:
        call = connect_to_own(path, None)
    except OSError as error:
        raise StateError(f"the job's driver cannot be reached: {error.strerror or error}") from error
    with call, call.makefile("rwb") as stream:
        stream.write(json.dumps({"command": command, **arguments}).encode() + b"\n")
        stream.flush()
        try:
            line = stream.readline()
        except OSError:
            line = b""
    if not line:
        raise StateError("the job's driver ended before it answered")
    answer = json.loads(line)
    if "error" in answer:
        raise JobExecutionError(answer["error"])
    return answer["result"]
