"""The service's end of the SQL gateway: starts its process for the first session, and passes on what clients ask."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import subprocess
import sys
import threading
from typing import Any

from funke.engine.config.settings import Settings
from funke.engine.errors import StateError
from funke.engine.jobs.control import ask
from funke.ops.service.service_folder import ServiceFolder

__all__ = ["Gateway"]

_LOG = logging.getLogger(__name__)
_START_S = 60.0
_END_S = 20.0


class Gateway:
    """Has a process as long as there are sessions."""

    def __init__(self, folder: ServiceFolder, settings: Settings, options: dict[str, str]) -> None:
        self._folder = folder
        self._settings = settings
        # Those of the environments of sessions: where the service is.
        self._options = options
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def _socket(self) -> str:
        return self._folder.of("gateway")

    def ask(self, command: str, **arguments: Any) -> Any:
        """Pass a command on; StateError when there is no process, and so no session."""
        with self._lock:
            if command == "open":
                self._start()
            if self._process is None or self._process.poll() is not None:
                raise StateError("There are no sessions: the SQL gateway has ended, or was not used for long.")
        return ask(self._socket, command, **arguments)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        ready, ready_writer = os.pipe()
        with (
            open(ready, "rb") as answer,
            open(ready_writer, "wb") as other,
            open(self._folder.of("logs/gateway.log"), "ab") as log,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "funke.ops.gateway.process", str(ready_writer)],
                cwd=self._folder.path,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(ready_writer,),
            )
            other.close()
            self._configure(process)
            if not (select.select([answer], [], [], _START_S)[0] and answer.read(1)):
                process.kill()
                process.wait()
                raise StateError("The SQL gateway has not started; logs/gateway.log of the service says why.")
        self._process = process
        _LOG.info("the SQL gateway runs: process %d", process.pid)

    def _configure(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        configuration = {"socket": self._socket, "settings": self._settings.to_text_dict(), "options": self._options}
        # Not on the command line, which every user can read. The pipe stays open as long as this process lives.
        with contextlib.suppress(OSError):  # it has ended: it will not say that it is ready
            process.stdin.write(json.dumps(configuration).encode() + b"\n")
            process.stdin.flush()

    def close(self) -> None:
        """End the process; queries end, what writes goes on."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._socket)
