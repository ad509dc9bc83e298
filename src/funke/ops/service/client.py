"""Finds the service and hands programs to it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from funke.engine.config.job_defaults import hidden_options
from funke.engine.errors import ConfigurationError, JobExecutionError, StateError
from funke.engine.jobs.control import ask
from funke.ops.service.service_folder import ServiceAddress, ServiceFolder

__all__ = ["ServiceClient", "start_service"]

_START_S = 60.0
_STOP_S = 120.0
_LOOK_S = 0.1
_REST_PORT = 8081
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_LONGEST_LOOK_S = 2.0


@dataclass(frozen=True)
class ServiceClient:
    """The service that belongs to a folder of job records."""

    folder: ServiceFolder

    def require(self, at: str | None = None) -> ServiceAddress:
        """Where it is; ConfigurationError when it does not run, or not at `at` (`localhost:8081`)."""
        address = self.folder.address()
        if address is None:
            raise ConfigurationError("no service runs for this folder of jobs; `funke start-cluster` starts one")
        if at is not None and _host_and_port(at) != _host_and_port(address.url):
            raise ConfigurationError(
                f"the service of this folder of jobs is at {address.url}, not at {at}; "
                "-Dfunke.home names another folder"
            )
        return address

    def submit(self, arguments: Sequence[str], working_folder: str) -> str:
        """Hands over a program; returns the id of its run."""
        self.require()
        return str(self._ask("submit", arguments=list(arguments), working_folder=working_folder, python=sys.executable))

    def wait_for_job(self, run_id: str) -> str:
        """The id of the run's first job; what the program has printed, as an error, when it ends without one."""
        while True:
            answer = self._ask("run", run_id=run_id)
            if answer["jobs"]:
                return str(answer["jobs"][0])
            if not answer["is_alive"]:
                raise JobExecutionError(f"the program ended without a job\n{answer['log']}".rstrip())
            time.sleep(_LOOK_S)

    def wait_for_end(self, run_id: str) -> None:
        """Waits until the program has ended; JobExecutionError when it has not ended well."""
        pause_s = _LOOK_S
        while True:
            answer = self._ask("run", run_id=run_id)
            if not answer["is_alive"] and (answer["exit_code"] is not None):
                if answer["exit_code"] != 0:
                    raise JobExecutionError(f"the program has failed\n{answer['log']}".rstrip())
                return
            time.sleep(pause_s)
            # The interval grows: each poll takes the service's time.
            pause_s = min(_LONGEST_LOOK_S, pause_s * 1.5)

    def dashboard_url(self) -> str:
        """Where a browser gets to see the dashboard; such a link works once."""
        self.require()
        return str(self._ask("dashboard"))

    def stop(self, keep_jobs: bool) -> None:
        """Ends the service and waits until it has ended."""
        address = self.require()
        self._ask("shutdown", keep_jobs=keep_jobs)
        end = time.monotonic() + _STOP_S
        while (left := self.folder.address()) is not None and left.pid == address.pid:
            if time.monotonic() > end:
                raise StateError(f"the service (process {address.pid}) did not end within {_STOP_S:g} s")
            time.sleep(_LOOK_S)

    def _ask(self, command: str, **arguments: Any) -> Any:
        return ask(self.folder.control_path, command, **arguments)


def _host_and_port(address: str) -> tuple[str | None, int]:
    """Host and port; this machine has several names for itself."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port or _REST_PORT
    except ValueError:
        raise ConfigurationError(f"invalid address '{address}'; expected host:port") from None
    return "localhost" if host in _THIS_MACHINE else host, port


def start_service(folder: ServiceFolder, properties: Sequence[str], is_standby: bool = False) -> ServiceAddress | None:
    """Starts the service in a process of its own and waits until it answers; nothing to wait for with a standby."""
    folder.open()
    path = folder.of("logs/standby.log" if is_standby else "logs/service.log")
    asked = [sys.executable, "-m", "funke.ops.service.serve", *(f"-D{text}" for text in properties)]
    command, hidden = hidden_options(asked)
    with open(path, "ab") as log:
        began = log.tell()
        child = subprocess.Popen(
            [*command, "--standby"] if is_standby else command,
            env={**os.environ, **hidden},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    if is_standby:
        return None
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        address = folder.address()
        if address is not None and address.pid == child.pid:
            return address
        if child.poll() is not None:
            raise StateError(f"the service has not started\n{_text_from(path, began)}".rstrip())
        time.sleep(_LOOK_S)
    raise StateError(f"the service has not answered within {_START_S:g} s; see {path}")


def _text_from(path: str, position: int) -> str:
    with open(path, "rb") as file:
        file.seek(max(position, os.fstat(file.fileno()).st_size - 4_000))
        return file.read().decode("utf-8", "replace")
