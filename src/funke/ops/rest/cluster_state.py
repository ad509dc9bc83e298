"""What the interface knows of the cluster that it serves: jobs, slots, settings, log files, and who takes programs."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from funke.ops.alarms.acknowledgements import Acknowledgements
from funke.ops.history.metric_history import MetricHistory
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.operations import Operations
from funke.ops.rest.rescale_history import RescaleHistory

__all__ = ["Cluster", "LogFile", "LogFolder", "Programs", "Slots"]

_MOST_LOG_BYTES = 4 << 20


@dataclass(frozen=True)
class Slots:
    """How many slots there are for jobs together, and how many of them are free."""

    total: int
    free: int


@dataclass(frozen=True)
class LogFile:
    """A file that may be looked at."""

    name: str
    path: str
    size: int
    mtime_ms: int


@dataclass(frozen=True)
class LogFolder:
    """Files of a folder that end like logs; nothing else can be asked for."""

    folder: str

    def files(self) -> Iterator[LogFile]:
        """The files, by name; links are left out, since they may lead anywhere."""
        if not os.path.isdir(self.folder):
            return
        with os.scandir(self.folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.endswith((".log", ".out")) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield LogFile(entry.name, entry.path, status.st_size, int(status.st_mtime * 1000))

    def read(self, name: str) -> bytes | None:
        """The end of a file; None when there is no such file."""
        log = next((each for each in self.files() if each.name == name), None)
        if log is None:
            return None
        descriptor = os.open(log.path, os.O_RDONLY | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            file.seek(max(0, log.size - _MOST_LOG_BYTES))
            return file.read(_MOST_LOG_BYTES)


class Programs(Protocol):
    """Takes programs and runs each in a process of its own."""

    @property
    def is_upload_allowed(self) -> bool:
        """Whether programs may be sent over the network."""

    @property
    def folder(self) -> str:
        """Where programs that were sent are kept."""

    def submit(self, arguments: list[str], working_folder: str) -> str:
        """Runs `funke run` with arguments; returns the id of its first job, once there is one."""

    def plan(self, arguments: list[str], working_folder: str) -> dict[str, Any]:
        """The plan of what `funke run` would run with arguments; nothing is run."""

    def rescale(self, job_id: str, parallelism: int) -> str:
        """Ends a job with a savepoint and goes on from there with another parallelism; returns the new job's id."""

    def shut_down(self) -> None:
        """Ends the service; jobs are cancelled."""


class GatewayCommands(Protocol):
    """Passes on what clients ask of their sessions of SQL."""

    def ask(self, command: str, **arguments: Any) -> Any:
        """The answer of the gateway's process."""


class SlotCounter(Protocol):
    """Knows how many slots there are."""

    def count(self) -> Slots:
        """As it is now."""


@dataclass(frozen=True)
class Cluster:
    """Everything that requests are answered from."""

    jobs: JobDirectory
    configuration: Mapping[str, str] = field(default_factory=dict)
    logs: LogFolder = LogFolder("")
    slots: SlotCounter | None = None
    programs: Programs | None = None
    rescales: RescaleHistory | None = None
    gateway: GatewayCommands | None = None
    operations: Operations = field(default_factory=Operations)
    history: MetricHistory = field(default_factory=MetricHistory)
    acknowledgements: Acknowledgements = field(default_factory=Acknowledgements)
    # Whether the service runs the program with a run's id.
    is_service_run: Callable[[str], bool] = lambda run_id: False
    started_ms: int = field(default_factory=lambda: int(time.time() * 1000))
