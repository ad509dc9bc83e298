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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

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
        printed = _funke(home, "start-cluster", "-Drest.port=0", *(f"-D{each}" for each in properties))
        try:
            yield Service(home, printed.split("\n")[0].rpartition(" ")[2])
        finally:
            _funke(home, "stop-cluster")


# Starting


def submission_s(runs: int = 5, *properties: str) -> tuple[float, float]:
    """From the command to RUNNING, in seconds: the median of several submissions to a warm service, and the worst."""
    found = []
    with running_service(*properties) as service:
        for number in range(runs):
            service.await_driver(number + 1)
            began_ms = time.time() * 1000
            job = service.run("waiting.py")
            found.append((_running_since_ms(service.url, job) - began_ms) / 1000)
            service.funke("cancel", job)
    return statistics.median(found), max(found)


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
            found = client.get("/jobs/overview").json()["jobs"]
            times.append((time.perf_counter() - began) * 1000)
            if len(found) != ended + running:
                raise SystemExit(f"{len(found)} jobs instead of {ended + running}")
            time.sleep(0.1)
        for each in owned:
            each.release()
    return statistics.median(times[1:])


# Watching


def observed_ratio(arguments: list[str], runs: int = 3) -> tuple[float, float, float]:
    """Throughput of jobs.py in the service, watched, against plain Python, in turns; and the seconds of both."""
    plain, observed = [], []
    reporter = "metrics.reporter.p.factory.class=org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    with running_service(reporter) as service, _watching(service):
        for number in range(runs):
            plain.append(_seconds([sys.executable, "-m", "funke", "jobs.py", *arguments], service.home + "-plain"))
            service.await_driver(number + 1)
            service.funke("run", "-t", "remote", "jobs.py", *arguments)
            observed.append(_seconds_in(service.home))
    first, second = statistics.median(plain), statistics.median(observed)
    return first / second, first, second


def _seconds(command: list[str], home: str) -> float:
    environment = {**os.environ, "FUNKE_HOME": home}
    done = subprocess.run(command, cwd=PROGRAMS, env=environment, capture_output=True, text=True, check=True)
    return _told(done.stdout)


def _seconds_in(home: str) -> float:
    """What the program that ran last has printed."""
    logs = [path for path in Path(home, "service", "logs").glob("*.log") if "SECONDS" in path.read_text()]
    return _told(max(logs, key=os.path.getmtime).read_text())


def _told(printed: str) -> float:
    return float(next(line.split()[1] for line in printed.splitlines() if line.startswith("SECONDS")))


@contextlib.contextmanager
def _watching(service: Service) -> Iterator[None]:
    """What an open page of a job asks for, and Prometheus."""
    is_over = threading.Event()

    def scrape() -> None:
        while not is_over.wait(5):
            httpx.get(f"{service.url}/metrics")

    def look() -> None:
        while not is_over.wait(1):
            jobs = httpx.get(f"{service.url}/jobs/overview").json()["jobs"]
            running = [each["jid"] for each in jobs if each["state"] == "RUNNING"]
            if running:
                job = f"/jobs/{running[-1]}"
                paths = ["/overview", "/jobs/overview", job, f"{job}/checkpoints", f"{job}/exceptions"]
                with (
                    contextlib.suppress(httpx.HTTPError),
                    httpx.stream("GET", f"{service.url}/v1/funke/live", params={"path": paths}, timeout=5) as stream,
                ):
                    for _ in stream.iter_bytes():
                        if is_over.is_set():
                            return

    threads = [threading.Thread(target=each, daemon=True) for each in (scrape, look)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(10)


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
    found, end, is_over = [], time.monotonic() + seconds, threading.Event()

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
        found.append(_memory_mb(driver))
        time.sleep(0.5)
    is_over.set()
    sender.join()
    return found


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
