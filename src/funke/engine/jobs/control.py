"""Commands for a running job from other processes, over a Unix socket in the folder of its record.

One line of JSON goes in, `{"command": "cancel", …}`, and one comes back, `{"result": …}` or `{"error": …}`. Until then
a line `{}` every second says that the driver is alive.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeAlias

from funke.engine.errors import FunkeError, JobExecutionError, StateError
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.engine.jobs.job import Job
from funke.engine.trust.peers import connect_to_own, listen_at, require_same_user
from funke.engine.types.json_form import to_json

__all__ = ["SILENCE_S", "Commands", "ControlServer", "ask", "serve_commands"]

# By name; each takes the arguments that came with the command.
Commands: TypeAlias = Mapping[str, Callable[..., Any]]

# How long a caller may take to say what it wants, and how long that may be.
_COMMAND_S = 5.0
_LONGEST_COMMAND = 1 << 16
# How often a driver says that it is alive, and how long a caller lets it be silent.
_ALIVE_S = 1.0
SILENCE_S = 15.0
# How long commands may take once the job has ended, or the program: then all of them should have their answers.
_LAST_ANSWERS_S = 10.0
# By command; Flink's `task.cancellation.timeout` for what waits for the end of the job.
_LIMIT_S = 30.0
_END_LIMIT_S = 180.0


class ControlServer:
    """Answers commands as long as the job runs; each within its limit, a number of seconds by the command's name."""

    def __init__(
        self,
        path: str,
        commands: Commands,
        limits_s: Mapping[str, float] | None = None,
        longest_command: int = _LONGEST_COMMAND,
    ) -> None:
        self._path = path
        self._longest_command = longest_command
        self._commands = commands
        self._limits_s = limits_s or {}
        self._is_closed = threading.Event()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener = listen_at(path)
        self._file = os.stat(path)
        threading.Thread(target=self._accept, name="funke-control", daemon=True).start()

    def close(self) -> None:
        """Stops listening; commands that are under way get their answers."""
        self._is_closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with contextlib.suppress(OSError):
            # A driver that has taken over listens at the same path.
            if os.path.samestat(os.stat(self._path), self._file):
                os.unlink(self._path)

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            try:
                call, _ = self._listener.accept()
            except OSError:
                # Closed; or there are too many open files just now, which callers need not suffer for ever.
                self._is_closed.wait(_ALIVE_S)
                continue
            # Not a daemon: a driver that ends because of a command answers it before.
            threading.Thread(target=self._answer, args=(call,), daemon=False).start()

    def _answer(self, call: socket.socket) -> None:
        with call, contextlib.suppress(OSError), call.makefile("rwb") as stream:
            require_same_user(call)
            call.settimeout(_COMMAND_S)
            line = stream.readline(self._longest_command)
            answer: Future[bytes] = Future()
            # The command may hang; this thread, for which the process waits, must not.
            threading.Thread(target=lambda: answer.set_result(self._run(line)), daemon=True).start()
            end = time.monotonic() + self._limits_s.get(_command_of(line), _LIMIT_S)
            while not answer.done() and time.monotonic() < end:
                if self._is_closed.is_set() or not threading.main_thread().is_alive():
                    end = min(end, time.monotonic() + _LAST_ANSWERS_S)
                wait([answer], _ALIVE_S)
                if not answer.done():
                    stream.write(b"{}\n")
                    stream.flush()
            stream.write(answer.result() if answer.done() else _TOO_LATE)
            stream.flush()

    def _run(self, line: bytes) -> bytes:
        try:
            request = json.loads(line)
            command = self._commands.get(request.pop("command", ""))
            if command is None:
                raise StateError("the job's driver does not know this command")
            return _to_line({"result": command(**request)})
        except FunkeError as error:
            return _to_line({"error": str(error)})
        except BaseException as error:
            return _to_line({"error": f"{type(error).__name__}: {error}"})


def _to_line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"


_TOO_LATE = _to_line({"error": "the job's driver is alive, but did not get it done in time"})


def _command_of(line: bytes) -> str:
    with contextlib.suppress(ValueError, AttributeError):
        return str(json.loads(line).get("command"))
    return ""


def serve_commands(path: str, job: Job, savepoint_limit_s: float) -> ControlServer:
    """Lets other processes see and command a job, until the server is closed.

    A savepoint that is not there after its limit has failed; the job may take some time more to end with it.
    """

    def savepoint(folder: str | None, afterwards: Afterwards) -> str:
        return job.savepoint(folder, afterwards).result()

    return ControlServer(
        path,
        {
            "status": lambda: job.status().name,
            "view": lambda: to_json(job.view()),
            "flame_graph": lambda **asked: to_json(job.flame_graph(**asked)),
            "threads": lambda: to_json(job.thread_stacks()),
            "log_levels": job.set_log_levels,
            "cancel": lambda: job.cancel().result(),
            "savepoint": savepoint,
            "checkpoint": lambda is_full: job.checkpoint(is_full).result(),
        },
        {
            "cancel": _END_LIMIT_S,
            "savepoint": savepoint_limit_s + _END_LIMIT_S,
            "checkpoint": savepoint_limit_s + _LIMIT_S,
        },
    )


def ask(path: str, command: str, silence_s: float = SILENCE_S, **arguments: Any) -> Any:
    """Sends a command to a job's driver and waits for the answer, as long as the driver says that it is alive."""
    try:
        call = connect_to_own(path, silence_s)
    except OSError as error:
        raise StateError(f"the job's driver cannot be reached: {error.strerror or error}") from error
    try:
        with call, call.makefile("rwb") as stream:
            stream.write(_to_line({"command": command, **arguments}))
            stream.flush()
            answer: dict[str, Any] = {}
            while not answer:
                answer = _received(stream.readline())
    except TimeoutError as error:
        raise StateError(f"the job's driver has been silent for {silence_s:g} s") from error
    except OSError as error:
        raise StateError("the job's driver ended before it answered") from error
    if "error" in answer:
        raise JobExecutionError(answer["error"])
    return answer["result"]


def _received(line: bytes) -> dict[str, Any]:
    if not line:
        raise ConnectionError("no answer")
    return dict(json.loads(line))
