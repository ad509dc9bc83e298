"""Where the service keeps what must outlive it.

<home>/service/attempt-<n>           the lease: which process is the service
<home>/service/service.json          where it can be reached
<home>/service/control               a socket for commands of this user
<home>/service/runs/<run>.json       a program that was taken
<home>/service/runs/<run>.alive      locked as long as the program's process lives
<home>/service/logs/<run>.log        what the program has printed; service.log is the service's own
<home>/service/slots/                the slots that jobs share
<home>/service/savepoints/           those taken for rescaling, unless another folder is set
<home>/service/programs/             programs that were sent over REST
<home>/service/rescales/             which jobs went on with another parallelism
<home>/service/history/<job>.v1      what a job measured in the last hour
<home>/service/acknowledged.json     acknowledged alarms
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import Any

from funke.engine.jobs.records.lease import current_owner
from funke.engine.trust.private_files import open_own_file, open_private_folder
from funke.engine.types.json_form import from_json, to_json

__all__ = ["LEASE_TIMEOUT_S", "ServiceAddress", "ServiceFolder"]

LEASE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class ServiceAddress:
    """Where a service can be reached."""

    pid: int
    host: str
    url: str
    started_ms: int


@dataclass(frozen=True)
class ServiceFolder:
    """The folder of the service that belongs to a folder of job records."""

    home: str

    @property
    def path(self) -> str:
        """The folder itself."""
        return os.path.join(self.home, "service")

    def of(self, name: str) -> str:
        """A path inside."""
        return os.path.join(self.path, name)

    def open(self) -> None:
        """Makes what is not there yet."""
        for folder in (self.path, self.of("runs"), self.of("logs")):
            open_private_folder(folder)

    @property
    def control_path(self) -> str:
        """The socket for commands."""
        return self.of("control")

    def put_address(self, address: ServiceAddress) -> None:
        """Tells where the service can be reached."""
        write_json(self.of("service.json"), to_json(address))

    def address(self) -> ServiceAddress | None:
        """Where the service can be reached; None when there is none."""
        if not os.path.isdir(self.path):
            return None
        owner = current_owner(self.path, LEASE_TIMEOUT_S)
        if owner is None or not owner.is_alive:
            return None
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            own = from_json(ServiceAddress, read_json(self.of("service.json")))
            return own if own.pid == owner.pid else None
        return None


def read_json(path: str) -> dict[str, Any]:
    """A file that this user has written."""
    with open_own_file(path) as file:
        return dict(json.loads(file.read()))


def write_json(path: str, content: Any) -> None:
    """Replaces a file by an atomic rename."""
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as out:
        json.dump(content, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    os.rename(part, path)
