"""Programs that the service has taken: each runs in a process of its own, which does not end with the service."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import IO

from funke.engine.config.job_defaults import hidden_options
from funke.engine.config.secret_keys import without_secrets
from funke.engine.errors import StateError
from funke.engine.jobs.records.record_stores import store_of
from funke.engine.jobs.records.recovery import RUN_VARIABLE
from funke.engine.runtime.snapshots.snapshot_files import join_path
from funke.engine.types.json_form import from_json, to_json
from funke.ops.service.log_rotation import remove_with_rotated
from funke.ops.service.service_folder import ServiceFolder, read_json, write_json
from funke.ops.service.warm_driver import IdleDriver

__all__ = ["ProgramRuns", "RunRecord"]

_LOCK_S = 1.0
_RUN_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class RunRecord:
    """A program that was taken."""

    run_id: str
    # Without secrets, which are handed on and not kept.
    command: tuple[str, ...]
    working_folder: str
    submitted_ms: int
    pid: int = 0
    ended_ms: int | None = None
    exit_code: int | None = None
    # Where its process is.
    host: str = ""


class ProgramRuns:
    """Starts programs and looks after them."""

    def __init__(self, folder: ServiceFolder, guard: Callable[[], None] = lambda: None) -> None:
        """`guard` raises when another service starts programs."""
        self._folder = folder
        self._guard = guard
        # Those that this process has started; those of a service before it are known by their files alone.
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._handed: dict[str, IdleDriver] = {}
        # What was read last, with the versions of the files.
        self._read: dict[str, tuple[Hashable, RunRecord]] = {}

    def start(
        self, command: Sequence[str], working_folder: str, idle: IdleDriver | None = None, arguments: Sequence[str] = ()
    ) -> RunRecord:
        """Starts a program that is new; passes its arguments to an idle driver, if there is one."""
        run_id = secrets.token_hex(8) if idle is None else idle.run_id
        self._guard()
        kept = without_secrets(tuple(command))
        record = RunRecord(run_id, kept, working_folder, int(time.time() * 1000))
        self._write(record)
        if idle is not None and idle.hand_over(command, arguments, working_folder):
            self._handed[run_id] = idle
            return self._begun(record, idle.process)
        return self.start_again(record, command)

    def prepare(self, command: Sequence[str]) -> IdleDriver:
        """Starts a process that waits for its program; its connection comes last on its command line."""
        run_id = secrets.token_hex(8)
        own, other = socket.socketpair()
        with other:
            child = self._start_process(run_id, [*command, str(other.fileno())], self._folder.path, other.fileno())
        return IdleDriver(run_id, child, own)

    def dismiss(self, idle: IdleDriver) -> None:
        """Ends a process that has no program, and what is there of it."""
        idle.end()
        self.forget([idle.run_id])

    def forget_dismissed(self) -> None:
        """Removes what a service before this one has left of drivers without a program."""
        stored = self._versions()
        for name in os.listdir(self._folder.of("runs")):
            run_id = name.removesuffix(".alive")
            if name != run_id and f"{run_id}.json" not in stored and not self.is_alive(run_id):
                self.forget([run_id])

    def start_again(self, record: RunRecord, command: Sequence[str]) -> RunRecord:
        """Starts the process of a program, which goes on with the jobs of that run if there are any."""
        return self._begun(record, self._start_process(record.run_id, command, record.working_folder))

    def _start_process(
        self, run_id: str, command: Sequence[str], folder: str, *inherited: int
    ) -> subprocess.Popen[bytes]:
        with (
            open(self._alive_path(run_id), "wb") as alive,
            open(self._folder.of(f"logs/{run_id}.log"), "ab") as log,
        ):
            # The lock goes with the open file to the process, and ends with it.
            _lock(alive, run_id)
            self._guard()
            visible, hidden = hidden_options(command)
            return subprocess.Popen(
                visible,
                cwd=folder,
                env={**os.environ, **hidden, RUN_VARIABLE: run_id},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(alive.fileno(), *inherited),
            )

    def _begun(self, record: RunRecord, child: subprocess.Popen[bytes]) -> RunRecord:
        self._children[record.run_id] = child
        started = replace(record, pid=child.pid, host=socket.gethostname(), ended_ms=None, exit_code=None)
        self._write(started)
        return started

    def all(self) -> list[RunRecord]:
        """Every program that is known, the oldest first."""
        versions = {name: version for name, version in self._versions().items() if name.endswith(".json")}
        self._read = {name: each for name, each in self._read.items() if versions.get(name) == each[0]}
        for name in versions.keys() - self._read.keys():
            if (record := self.find(name.removesuffix(".json"))) is not None:
                self._read[name] = versions[name], record
        return sorted((record for _, record in self._read.values()), key=lambda each: each.submitted_ms)

    def _versions(self) -> dict[str, Hashable]:
        runs = join_path(self._folder.stored, "runs")
        return store_of(runs).versions(runs)

    def find(self, run_id: str) -> RunRecord | None:
        """A program that is known."""
        if not _RUN_ID.fullmatch(run_id):
            return None
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return from_json(RunRecord, read_json(self._path(run_id)))
        return None

    def is_alive(self, run_id: str) -> bool:
        """Whether the program's process lives, also if another service started it."""
        try:
            with open(self._alive_path(run_id), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def note_ends(self) -> None:
        """Writes down which programs have ended, and how as far as that is known."""
        for run_id, child in list(self._children.items()):
            # Asking also lets the system forget the process.
            if child.poll() is not None:
                del self._children[run_id]
                if not self._starts_cold(run_id):
                    self._note_end(run_id, child.returncode)
        for record in self.all():
            is_over = record.ended_ms is None and record.run_id not in self._children
            if is_over and self._is_seen(record) and not self.is_alive(record.run_id):
                self._note_end(record.run_id, None)

    def _is_seen(self, record: RunRecord) -> bool:
        """Whether the lock of a program is in a folder that its process and this one share."""
        return self._folder.stored == self._folder.path or record.host == socket.gethostname()

    def _starts_cold(self, run_id: str) -> bool:
        """Starts a program whose driver had died before it heard of it."""
        idle, record = self._handed.pop(run_id, None), self.find(run_id)
        if idle is None or record is None or idle.has_heard():
            return False
        self.start_again(record, idle.command)
        return True

    def _note_end(self, run_id: str, exit_code: int | None) -> None:
        record = self.find(run_id)
        if record is not None:
            self._write(replace(record, ended_ms=int(time.time() * 1000), exit_code=exit_code))

    def forget(self, run_ids: Sequence[str]) -> None:
        """Removes what is kept of programs."""
        for run_id in run_ids:
            remove_with_rotated(self._folder.of(f"logs/{run_id}.log"))
            for path in (self._path(run_id), self._alive_path(run_id)):
                store_of(path).remove(path)

    def log_end(self, run_id: str, most_bytes: int = 4_000) -> str:
        """The last lines that a program has printed."""
        with contextlib.suppress(OSError), open(self._folder.of(f"logs/{run_id}.log"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read().decode("utf-8", "replace")
        return ""

    def _write(self, record: RunRecord) -> None:
        write_json(self._path(record.run_id), to_json(record))

    def _path(self, run_id: str) -> str:
        return join_path(self._folder.stored, f"runs/{run_id}.json")

    def _alive_path(self, run_id: str) -> str:
        return self._folder.of(f"runs/{run_id}.alive")


def _lock(alive: IO[bytes], run_id: str) -> None:
    """For the process that is to start; those who look whether there is one hold the lock for a moment."""
    end = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if time.monotonic() > end:
                raise StateError(f"the program of run {run_id} runs already") from error
            time.sleep(_LOCK_S / 100)
