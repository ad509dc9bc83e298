"""A job in processes of its own: they can be killed one by one, the job is brought back, its output is checked."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from funke.engine.config.settings import Settings
from funke.engine.jobs.records.job_record import JobRecord, home_folder, read_records
from tools import soak_job

Victim = Literal["slot", "watcher", "worker", "executor", "driver", "snapshot"]

_ROOT = Path(__file__).parent.parent


@dataclass
class Outcome:
    """What became of the output."""

    lines: int
    lost: Counter[str]
    duplicated: Counter[str]

    @property
    def is_exact(self) -> bool:
        """Whether every line is there once."""
        return not self.lost and not self.duplicated


@dataclass
class KillableJob:
    """The job of `tools/soak_job.py`, or of another program with the same arguments, in a folder of its own."""

    folder: Path
    records: int
    pace: str
    options: dict[str, str] = field(default_factory=dict)
    is_quiet: bool = True
    program: Path = Path(soak_job.__file__)
    # The lines that it must have written, by how many records there are.
    expected: Callable[[int], Counter[str]] = soak_job.expected
    # What its processes find in their environment.
    variables: dict[str, str] = field(default_factory=dict)
    # Where its record and its checkpoints are; in its folder unless told otherwise.
    storage: Path | None = None
    # Where its record is, if not in a folder of this machine.
    record_store: str | None = None
    starts: int = 0
    recoveries: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # A short path: it is part of the addresses of sockets.
        self._temporary = Path(tempfile.mkdtemp(prefix="fj-"))
        self._mark = f"FUNKE_MARK={uuid.uuid4().hex}"
        self._log = (self.folder / "log.txt").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> Path:
        """Where the sinks write."""
        return self.folder / "out"

    def _environment(self) -> dict[str, str]:
        name, value = self._mark.split("=")
        path = os.pathsep.join(part for part in (str(_ROOT), os.environ.get("PYTHONPATH", "")) if part)
        own = {"FUNKE_HOME": str(self.home), "PYTHONPATH": path, "TMPDIR": str(self._temporary), name: value}
        # No archive of Spark's classes is made: that goes on after the program, on purpose.
        return {**os.environ, "FUNKE_CLASS_ARCHIVE": "use", **self.variables, **own}

    @property
    def home(self) -> Path:
        """Where its record is."""
        return (self.storage or self.folder) / "home"

    @property
    def checkpoints(self) -> Path:
        """Where its checkpoints are."""
        return (self.storage or self.folder) / "checkpoints"

    def _launch(self, *arguments: str) -> None:
        self.starts += 1
        self.process = subprocess.Popen(
            [sys.executable, "-m", "funke", *arguments],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=self._log if self.is_quiet else None,
            stderr=self._log if self.is_quiet else None,
            cwd=self.folder,
            start_new_session=True,
        )

    def start(self, savepoint: str | None = None) -> None:
        """Runs the program for the first time, or as a new job that goes on from a savepoint."""
        options = {
            "parallelism.default": "2",
            "execution.checkpointing.interval": "300 ms",
            "execution.checkpointing.dir": str(self.checkpoints),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000000",
            "restart-strategy.fixed-delay.delay": "100 ms",
            "funke.lease-timeout": "5 s",
            **self._home_option(),
            **self.options,
        }
        arguments = [f"-D{key}={value}" for key, value in options.items()]
        arguments += [] if savepoint is None else ["-s", savepoint]
        self._launch("run", *arguments, str(self.program), str(self.output), str(self.records), self.pace)

    def recover(self, *arguments: str) -> None:
        """Goes on with a job whose driver is gone; starts it if it had not come as far as a record."""
        self.recoveries += 1
        record = self.record()
        if record is None:
            self.start()
        else:
            self._launch("recover", *arguments, record.job_id)

    def _home_option(self) -> dict[str, str]:
        return {} if self.record_store is None else {"high-availability.storageDir": self.record_store}

    def record(self) -> JobRecord | None:
        """What is written down about the job; of several, about the one that was started last."""
        return max(self.job_records(), key=lambda record: record.started_ms, default=None)

    def job_records(self) -> list[JobRecord]:
        """What is written down about all jobs."""
        return list(read_records(home_folder(Settings({"funke.home": str(self.home), **self._home_option()}))))

    def command(self, name: str, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs another `funke` command."""
        where = [f"-D{key}={value}" for key, value in self._home_option().items()]
        return subprocess.run(
            [sys.executable, "-m", "funke", name, *where, *arguments],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def wait(self, seconds: float) -> int:
        """Waits for the driver's end; returns its exit code."""
        assert self.process is not None
        return self.process.wait(seconds)

    def run_to_the_end(self, seconds: float) -> None:
        """Waits for the end, and recovers the job as often as its driver is killed; fails if it ends badly."""
        end = time.monotonic() + seconds
        while (code := self._wait_until(end)) != 0:
            if code != -signal.SIGKILL:
                raise RuntimeError(f"the driver ended with {code}:\n{self.log()[-4000:]}")
            self.recover()

    def _wait_until(self, end: float) -> int:
        try:
            return self.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"the job takes too long:\n{self.log()[-4000:]}") from late

    def log(self) -> str:
        """What the drivers have printed."""
        return (self.folder / "log.txt").read_text(errors="replace")

    def processes(self) -> dict[Victim, list[int]]:
        """The living processes of the job by kind."""
        tree = _tree(self._mark)
        pids: dict[Victim, list[int]] = {kind: [] for kind in get_args(Victim)}
        for pid, process in tree.items():
            above = tree.get(process.parent, _Process(0, "", ""))
            if process.name == "java":
                pids["executor"].append(pid)
            elif self.program.name in process.command:
                pids["driver"].append(pid)
            elif _is_daemon(process.command) and _is_daemon(above.command):
                pids["worker"].append(pid)
            elif process.name == "funke-watcher":
                pids["watcher"].append(pid)
            elif process.name == "funke-slot":
                pids["slot" if above.name == "funke-watcher" else "snapshot"].append(pid)
        return pids

    def kill(self, victim: Victim) -> bool:
        """Kills the first process of a kind; False if there is none."""
        return self.signal(victim, signal.SIGKILL) is not None

    def signal(self, victim: Victim, number: signal.Signals) -> int | None:
        """Sends a signal to the first process of a kind; returns its id, None if there is none."""
        for pid in self.processes()[victim]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                return pid
        return None

    def lose_power(self) -> None:
        """Ends everything at once, without a word, and empties the temporary folder: the machine restarts."""
        self.kill_all()
        shutil.rmtree(self._temporary)
        self._temporary.mkdir(mode=0o700)

    def kill_all(self) -> list[Path]:
        """Ends everything at once, without a word; returns the run folders that nobody was left to remove."""
        while pids := list(_tree(self._mark)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        return list(self._temporary.glob("funke-*"))

    def left_over(self, seconds: float = 15.0) -> list[str]:
        """What the job has left behind although its driver has ended: processes, sockets, folders."""
        end = time.monotonic() + seconds
        while (results := list(self._left_over())) and time.monotonic() < end:
            time.sleep(0.2)
        return results

    def _left_over(self) -> Iterator[str]:
        yield from (f"process {pid}: {entry}"[:200] for pid, entry in _tree(self._mark).items())
        for path in [*self.home.rglob("*"), *self._temporary.rglob("*")]:
            if path.is_socket():
                yield f"socket {path}"
        yield from (f"folder {path}" for path in self._temporary.glob("funke-*"))

    def outcome(self) -> Outcome:
        """Compares what is committed with what must be there."""
        expected, result = self.expected(self.records), soak_job.committed(self.output)
        return Outcome(result.total(), expected - result, result - expected)

    def close(self) -> None:
        """Leaves no process behind."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        end = time.monotonic() + 5
        while (left := list(_tree(self._mark))) and time.monotonic() < end:
            time.sleep(0.2)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._log.close()


class _Process(NamedTuple):
    parent: int
    name: str
    command: str


def _is_daemon(command: str) -> bool:
    """Whether it is the process that Spark's Python workers are forked from, or one of them."""
    return "quiet_daemon" in command or "pyspark.daemon" in command


def _tree(mark: str) -> dict[int, _Process]:
    """Every process that has the mark in its environment."""
    return dict(_marked(mark.encode()))


def _marked(mark: bytes) -> Iterator[tuple[int, _Process]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            if mark in (entry / "environ").read_bytes():
                before, _, after = (entry / "stat").read_text(errors="replace").rpartition(")")
                state, parent = after.split()[:2]
                if state != "Z":
                    command = (entry / "cmdline").read_text(errors="replace")
                    yield int(entry.name), _Process(int(parent), before.partition("(")[2], command)
