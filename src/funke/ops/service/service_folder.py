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
<home>/service/acknowledged.json     alarms that somebody has seen

If the home is in an object store or in HDFS, it has the lease, `service.json` and the programs' files
`runs/<run>.json`; a folder of the service's machine has the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import Any

from funke.engine.jobs.records.lease import await_beats, current_owner
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.trust.private_files import open_private_folder
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
        """The folder itself, on this machine."""
        return os.path.join(self.local_home, "service")

    @property
    def local_home(self) -> str:
        """The folder of this machine that belongs to the records."""
        return store_of(self.home).local_folder(self.home)

    @property
    def stored(self) -> str:
        """Where another service finds what it needs to take over."""
        return join_path(self.home, "service")

    def of(self, name: str) -> str:
        """A path inside."""
        return os.path.join(self.path, name)

    def open(self) -> None:
        """Makes what is not there yet."""
        for folder in (self.path, self.of("runs"), self.of("logs")):
            open_private_folder(folder)
        if self.stored != self.path:
            store_of(self.stored).make_folder(join_path(self.stored, "runs"))

    @property
    def control_path(self) -> str:
        """The socket for commands."""
        return self.of("control")

    def put_address(self, address: ServiceAddress) -> None:
        """Tells where the service can be reached."""
        write_json(join_path(self.stored, "service.json"), to_json(address))

    def await_owner(self) -> None:
        """Waits until it is certain whether a service runs."""
        if not store_of(self.stored).has_locks:
            await_beats([self.stored], LEASE_TIMEOUT_S)

    def address(self) -> ServiceAddress | None:
        """Where the service can be reached; None when there is none."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            owner = current_owner(self.stored, LEASE_TIMEOUT_S)
            if owner is None or not owner.is_alive:
                return None
            address = from_json(ServiceAddress, read_json(join_path(self.stored, "service.json")))
            return address if (address.pid, address.host) == (owner.pid, owner.host) else None
        return None


def read_json(path: str) -> dict[str, Any]:
    """A file that this user has written."""
    return dict(json.loads(store_of(path).read(path)))


def write_json(path: str, content: Any) -> None:
    """Replaces a file by an atomic rename."""
    store_of(path).write(path, json.dumps(content, indent=1).encode())
