"""What can happen to a job: processes die, stop or fork, disks fill up, files change, commands come at bad moments."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tools.killable_job import KillableJob, Victim
from tools.small_disk import SmallDisk

__all__ = ["KINDS", "Commands", "Disturbances"]

# How often each kind is chosen. `fork` is nothing that happens, but how the job's function behaves in some rounds.
KINDS = {"kill": 6, "pause": 3, "savepoint": 3, "restore": 2, "disk": 2, "ask": 2, "damage": 2, "fork": 0}
# How often each is killed: the smaller the process, the sooner the job is back.
_VICTIMS: dict[str, int] = {"slot": 5, "driver": 3, "executor": 2, "worker": 2, "snapshot": 1}
_PAUSED: tuple[Victim, ...] = ("slot", "slot", "worker")
_LONGEST_PAUSE_S = 6.0
_LONGEST_FULL_S = 3.0
_RESTARTING = "restarting the job in "


@dataclass
class Commands:
    """Commands from outside: each must be answered in time, whatever happens to the job meanwhile."""

    job: KillableJob
    # On a busy machine the interpreter alone takes seconds to start.
    limits_s: dict[str, float] = field(
        default_factory=lambda: {"list": 60, "status": 60, "savepoint": 150, "stop": 240, "cancel": 240}
    )
    answered: Counter[str] = field(default_factory=Counter)
    unanswered: list[str] = field(default_factory=list)

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str] | None:
        """Runs a command; None, and it is noted, when there is no answer."""
        try:
            done = self.job.command(command, *arguments, seconds=self.limits_s[command])
        except subprocess.TimeoutExpired:
            self.unanswered.append(f"funke {command}: nothing within {self.limits_s[command]:g} s")
            return None
        if done.returncode and not done.stderr.strip():
            self.unanswered.append(f"funke {command}: ended with {done.returncode} and no word")
        self.answered[command] += 1
        return done


class Disturbances:
    """Does to a job what chance says."""

    def __init__(self, job: KillableJob, disk: SmallDisk, commands: Commands, chance: random.Random) -> None:
        self._job = job
        self._disk = disk
        self._commands = commands
        self._chance = chance
        self._last_damaged = 0
        self.happened: Counter[str] = Counter()
        self._by_kind = {
            "kill": self._kill,
            "pause": self._pause,
            "savepoint": self._kill_in_savepoint,
            "restore": self._kill_in_restore,
            "disk": self._fill_disk,
            "ask": self._ask,
            "damage": self._damage,
        }

    @property
    def has_filled_disk(self) -> bool:
        """Whether a driver may have ended because of that."""
        return self.happened["full disk"] > 0

    def happen(self, kinds: list[str]) -> None:
        """One of the kinds."""
        (kind,) = self._chance.choices(kinds, [KINDS[kind] for kind in kinds])
        self._by_kind[kind]()

    def _kill(self) -> None:
        living = [kind for kind, pids in self._job.processes().items() if pids]
        if not self._has_checkpoint():
            # Without Spark a job that has never run does not begin: there is nothing to bring back.
            living = [kind for kind in living if kind != "executor"]
        if living:
            (victim,) = self._chance.choices(living, [_VICTIMS.get(kind, 1) for kind in living])
            self.happened[f"kill {victim}"] += self._job.kill(victim)

    def _pause(self) -> None:
        """A process stops and goes on, unless somebody has lost patience with it."""
        pid = self._job.signal(self._chance.choice(_PAUSED), signal.SIGSTOP)
        if pid is not None:
            self.happened["pause"] += 1
            time.sleep(self._chance.uniform(0.5, _LONGEST_PAUSE_S))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _kill_in_savepoint(self) -> None:
        record = self._job.record()
        if record is not None and self._has_checkpoint():
            folder = str(self._job.folder / "savepoints")
            saving = threading.Thread(target=self._commands.run, args=("savepoint", record.job_id, folder))
            saving.start()
            time.sleep(self._chance.uniform(0.2, 2.0))
            if self._chance.random() < 0.7:
                self._kill()
            saving.join()

    def _kill_in_restore(self) -> None:
        """A slot dies, and another one while the job is being restored."""
        before = self._job.log().count(_RESTARTING)
        if self._has_checkpoint() and self._job.kill("slot"):
            self.happened["kill slot"] += 1
            end = time.monotonic() + 10
            while self._job.log().count(_RESTARTING) == before and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(self._chance.uniform(0.1, 0.6))
            self.happened["kill in restore"] += self._job.kill("slot")

    def _fill_disk(self) -> None:
        """The disk with record and checkpoints is full for a while; sometimes a slot dies meanwhile."""
        if self._has_checkpoint():
            self.happened["full disk"] += 1
            self._disk.fill()
            try:
                time.sleep(self._chance.uniform(0.3, _LONGEST_FULL_S))
                if self._chance.random() < 0.5:
                    self.happened["kill slot"] += self._job.kill("slot")
                    time.sleep(1.0)
            finally:
                self._disk.free()

    def _ask(self) -> None:
        record = self._job.record()
        self._commands.run("list", "-a")
        if record is not None:
            self._commands.run("status", record.job_id)

    def _damage(self) -> None:
        """A byte of the newest checkpoint changes, and a slot dies.

        Not again before the checkpoint to which the job goes back is a new one: two are kept, and one must be intact.
        """
        newest = max(self._job.checkpoints.glob("*/chk-*/_metadata"), key=_number, default=None)
        if newest is None or _number(newest) < self._last_damaged + 3:
            return
        self._last_damaged = _number(newest)
        files = [path for path in newest.parent.iterdir() if path.name != "_metadata"]
        with contextlib.suppress(OSError, ValueError):  # it has just been replaced by the next one, or is empty
            self._flip(self._chance.choice(files or [newest]))
            self.happened["damage"] += 1
            self.happened["kill slot"] += self._job.kill("slot")

    def _flip(self, path: Path) -> None:
        position = self._chance.randrange(path.stat().st_size)
        with path.open("r+b") as file:
            file.seek(position)
            (value,) = file.read(1)
            file.seek(position)
            file.write(bytes([value ^ 1 << self._chance.randrange(8)]))

    def _has_checkpoint(self) -> bool:
        record = self._job.record()
        return record is not None and record.state().checkpoint is not None


def _number(metadata: Path) -> int:
    return int(metadata.parent.name.partition("-")[2])
