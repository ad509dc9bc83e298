"""What the service costs and how fast it answers: measured on a service of its own, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from dashboard_paint import open_browser

__all__ = ["burst_ratio", "observed_ratio", "overview_ms", "submission_s"]

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).parent / "programs"
_READY_S = 120.0
_STEADY_S = 30.0
_BURST_S = 60.0
# What burst.py's two subtasks can take in a second; first half of that comes, then ten times as much.
_CAPACITY = 3_000
_LINES = [
    b"%03d is a line of a hundred characters or so, as events have them, with nothing in it to remember\n" % n
    for n in range(1000)
]


@dataclass(frozen=True)
class Service:
    """A service that runs."""

    home: str
    url: str

    def funke(self, *arguments: str) -> str:
        """Runs a command of `funke`; returns what it prints."""
        return _funke(self.home, *arguments)

    def run(self, *arguments: str) -> str:
        """Hands a program over; returns the id of its job."""
        return self.funke("run", "-d", *arguments).partition("submitted with JobID ")[2].split()[0]

    def await_driver(self, number: int) -> None:
        """Waits until a driver is ready for the so-manieth program."""
        log, end = Path(self.home, "service", "logs", "service.log"), time.monotonic() + _READY_S
        while log.read_text().count("a driver is ready") < number:
            if time.monotonic() > end:
                raise SystemExit(f"no driver is ready after {_READY_S:g} s")
            time.sleep(0.5)
        time.sleep(2)  # what it has started settles


def _funke(home: str, *arguments: str) -> str:
    command, environment = [sys.executable, "-m", "funke", *arguments], {**os.environ, "FUNKE_HOME": home}
    done = subprocess.run(command, cwd=PROGRAMS, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"funke {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def running_service(*properties: str) -> Iterator[Service]:
    """A service as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="funke-bench-") as home:
        printed = _funke(
            home, "start-cluster", "-Drest.port=0", "-Dfunke.rest.insecure=true", *(f"-D{each}" for each in properties)
        )
        try:
            yield Service(home, printed.split("\n")[0].rpartition(" ")[2])
        finally:
            _funke(home, "stop-cluster")


# Starting


def submission_s(runs: int = 5, *properties: str) -> tuple[float, float]:
    """From the command to RUNNING, in seconds: the median of several submissions to a warm service, and the worst."""
    times = []
    with running_service(*properties) as service:
        for number in range(runs):
            service.await_driver(number + 1)
            began_ms = time.time() * 1000
            job = service.run("waiting.py")
            times.append((_running_since_ms(service.url, job) - began_ms) / 1000)
            service.funke("cancel", job)
    return statistics.median(times), max(times)


def _running_since_ms(url: str, job: str) -> float:
    """When a job has begun to run, by its own clock."""
    while True:
        entered = httpx.get(f"{url}/jobs/{job}").json()["timestamps"]
        if entered["RUNNING"] > 0:
            return float(entered["RUNNING"])
        time.sleep(0.05)


# Answering


def overview_ms(ended: int = 100, running: int = 5) -> float:
    """The median of `/jobs/overview` while running jobs write down twice a second how they stand."""
    sys.path.insert(0, str(ROOT))
    from funke.engine.types.job_status import JobStatus
    from tests.unit.ops.rest.job_samples import ended as end
    from tests.unit.ops.rest.job_samples import sample_view, submit

    times = []
    with running_service("funke.service.warm-driver=false") as service, httpx.Client(base_url=service.url) as client:
        for _ in range(ended):
            end(service.home, JobStatus.FINISHED)
        owned = [submit(service.home) for _ in range(running)]
        for number in range(60):
            for each in owned if number % 5 == 0 else ():
                each.put_view(sample_view(each.job_id, seen_ms=number))
            began = time.perf_counter()
            jobs = client.get("/jobs/overview").json()["jobs"]
            times.append((time.perf_counter() - began) * 1000)
            if len(jobs) != ended + running:
                raise SystemExit(f"{len(jobs)} jobs instead of {ended + running}")
            time.sleep(0.1)
        for each in owned:
            each.release()
    return statistics.median(times[1:])


# Watching


@dataclass(frozen=True)
class Run:
    """A run of the program: how long it took, and the processor seconds of its slots for each second of that."""

    seconds: float
    share: float


@dataclass(frozen=True)
class Pair:
    """The same program over the same file, twice in a row: by itself, and in the service, watched."""

    plain: Run
    watched: Run

    @property
    def ratio(self) -> float:
        """Throughput with everything against none of it, by the clock."""
        return self.plain.seconds / self.watched.seconds

    @property
    def share_ratio(self) -> float:
        """What slots got of the processors, likewise: what is left of the ratio when the machine's speed changes."""
        return self.watched.share / self.plain.share


@dataclass(frozen=True)
class Watched:
    """Alternating runs. The machine's speed changes within minutes: what stands side by side is compared."""

    pairs: tuple[Pair, ...]

    @property
    def ratio(self) -> float:
        """The median of the pairs."""
        return statistics.median(each.ratio for each in self.pairs)

    @property
    def share_ratio(self) -> float:
        """The same of the processors' shares."""
        return statistics.median(each.share_ratio for each in self.pairs)


def observed_ratio(arguments: list[str], pairs: int = 5) -> Watched:
    """What it costs to run jobs.py in a service with figures for Prometheus, the job's page open in a browser.

    While the plain program runs, there is no service. Who comes first changes from pair to pair, so that a machine
    that gets slower and slower, or faster, favours neither.
    """
    times = []
    for number in range(pairs):
        if number % 2:
            watched, plain = _watched_run(arguments), _plain_run(arguments)
        else:
            plain, watched = _plain_run(arguments), _watched_run(arguments)
        times.append(Pair(plain, watched))
    return Watched(tuple(times))


@contextlib.contextmanager
def _slots_cpu() -> Iterator[dict[int, float]]:
    """The processor seconds of the slots that start and end meanwhile, by their process ids."""
    used: dict[int, float] = {}
    is_over, tick = threading.Event(), os.sysconf("SC_CLK_TCK")

    def look() -> None:
        while not is_over.wait(0.5):
            for stat in Path("/proc").glob("[0-9]*/stat"):
                with contextlib.suppress(OSError):
                    name, _, fields = stat.read_text().partition("(")[2].rpartition(")")
                    if name == "funke-slot":
                        used[int(stat.parent.name)] = sum(map(int, fields.split()[11:13])) / tick

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield used
    finally:
        is_over.set()
        thread.join()


def _plain_run(arguments: list[str]) -> Run:
    with tempfile.TemporaryDirectory(prefix="funke-bench-") as home, _slots_cpu() as used:
        seconds = _seconds_of(_funke(home, "run", "jobs.py", *arguments))
    return Run(seconds, sum(used.values()) / seconds)


def _watched_run(arguments: list[str]) -> Run:
    reporter = "metrics.reporter.p.factory.class=org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    with running_service(reporter, "metrics.reporter.p.port=0") as service:
        service.await_driver(1)
        with _drawing(service), _slots_cpu() as used:
            service.funke("run", "-t", "remote", "jobs.py", *arguments)
        seconds = _seconds_in(service.home)
        return Run(seconds, sum(used.values()) / seconds)


def _seconds_in(home: str) -> float:
    """What the program that ran last has printed."""
    logs = [path for path in Path(home, "service", "logs").glob("*.log") if "SECONDS" in path.read_text()]
    return _seconds_of(max(logs, key=os.path.getmtime).read_text())


def _seconds_of(printed: str) -> float:
    return float(next(line.split()[1] for line in printed.splitlines() if line.startswith("SECONDS")))


@contextlib.contextmanager
def _drawing(service: Service) -> Iterator[None]:
    """The page of the job that runs last, in a browser; and Prometheus."""
    with open_browser() as browser:
        browser.set_window_size(1440, 900)
        browser.get(service.url)

        def look(client: httpx.Client, is_over: threading.Event) -> None:
            latest = None
            while not is_over.wait(1):
                job = _running_job(client)
                if job not in (None, latest):
                    latest = job
                    browser.get(f"{service.url}/#{job}/graph")

        with _in_threads(service, look, _scrape):
            yield


def _running_job(client: httpx.Client) -> str | None:
    jobs = client.get("/jobs/overview").json()["jobs"]
    return next((f"/jobs/{each['jid']}" for each in reversed(jobs) if each["state"] == "RUNNING"), None)


def _scrape(client: httpx.Client, is_over: threading.Event) -> None:
    while not is_over.wait(5):
        client.get("/metrics")


@contextlib.contextmanager
def _in_threads(service: Service, *loops: Callable[[httpx.Client, threading.Event], None]) -> Iterator[None]:
    is_over = threading.Event()

    def run(loop: Callable[[httpx.Client, threading.Event], None]) -> None:
        with httpx.Client(base_url=service.url) as client:
            loop(client, is_over)

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(20)


# Bursts


def burst_ratio() -> tuple[float, float, float]:
    """Memory of all processes of a job at its peak, while ten times as much comes as it can take, against before."""
    with socket.create_server(("127.0.0.1", 0)) as listener, running_service() as service:
        job = service.run("burst.py", str(listener.getsockname()[1]))
        connection, _ = listener.accept()
        with connection:
            _running_since_ms(service.url, job)
            run = next(Path(service.home, "service", "runs").glob("*.json"))
            driver = int(run.read_text().partition('"pid": ')[2].split(",")[0])
            steady = _fed(connection, driver, _CAPACITY // 2, _STEADY_S)
            peak = _fed(connection, driver, _CAPACITY * 10, _BURST_S)
        service.funke("cancel", job)
    before = statistics.median(steady[len(steady) // 2 :])
    return max(peak) / before, before, max(peak)


def _fed(connection: socket.socket, driver: int, per_second: int, seconds: float) -> list[float]:
    """Sends lines at a rate, as far as they are taken; what the processes hold meanwhile, in megabytes."""
    times, end, is_over = [], time.monotonic() + seconds, threading.Event()

    def send() -> None:
        connection.settimeout(0.5)
        sent, began = 0, time.monotonic()
        while not is_over.is_set():
            due = int((time.monotonic() - began) * per_second) - sent
            with contextlib.suppress(TimeoutError):
                sent += connection.send(b"".join(_LINES[:due])) // len(_LINES[0]) if due > 0 else 0
            time.sleep(0.005)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    while time.monotonic() < end:
        times.append(_memory_mb(driver))
        time.sleep(0.5)
    is_over.set()
    sender.join()
    return times


def _memory_mb(root: int) -> float:
    """What a process and all below it hold; what several share counts once."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    waiting, kilobytes = [root], 0
    while waiting:
        pid = waiting.pop()
        waiting += parents.get(pid, [])
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            kilobytes += int(text.partition("Pss:")[2].split()[0])
    return kilobytes / 1024
