"""Measures the driver of a streaming job against simulated slots, without Spark.

    nice python tools/scale.py [--slots 100] [--vertices 2] [--seconds 10] [--interval "1 h"] [--profile FILE]
    nice python tools/scale.py --spark --slots 64      # nothing is simulated: the slots of embedded Spark

The driver's side is real: planning, listener and handshakes, split enumerators, checkpoints with a store, the job's
record and view, REST. The slots are sockets of a few other processes, which speak the slots' protocol, report every
second what a real slot has reported, and read no records (`tests/harness/simulated_slots.py`). Connections between
slots, and their memory, are therefore not in the figures; they are in those of `--spark`.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from funke.engine.jobs.attempts.job_attempts import JobAttempts
from funke.engine.jobs.running_job import RunningJob
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.slots.process_ties import children_of
from funke.engine.runtime.spark.spark_session import spark_context
from funke.engine.types.job_status import JobStatus
from funke.engine.types.json_form import to_json
from funke.ops.rest.answering import DirectAnswers
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.metrics_text import metrics_text
from tests.harness.simulated_job import SimulatedJob, job_settings, keyed_graph, running

_CHECKPOINTS = 3
_LIMIT_S = 600.0
_PAGES = {
    "job": "/jobs/{job}",
    "vertex": "/jobs/{job}/vertices/{vertex}",
    "metrics of a vertex": "/jobs/{job}/vertices/{vertex}/metrics",
    "checkpoints": "/jobs/{job}/checkpoints",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--vertices", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the steady state is measured")
    parser.add_argument("--interval", default="1 h", help="of the checkpoints that the job takes by itself")
    parser.add_argument("--processes", type=int, default=1, help="in which the simulated slots are")
    parser.add_argument("--spark", action="store_true", help="real slots, on embedded Spark")
    parser.add_argument("--profile", help="where to write a profile of the driver's thread")
    asked = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        with _profiled(asked.profile):
            (_measure_slots if asked.spark else _measure)(asked, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(asked: argparse.Namespace, folder: str) -> None:
    settings = job_settings(folder, asked.slots, asked.vertices, asked.interval, {"spark.master": "simulated"})
    began, began_cpu = time.monotonic(), time.process_time()
    with running(keyed_graph(asked.slots, asked.vertices), settings, asked.processes) as simulated:
        job, subtasks = simulated.job, asked.slots * asked.vertices
        _show("subtasks", f"{subtasks}")
        _show("planned after", f"{simulated.began - began:.2f} s")
        _show("plan, for each slot", f"{simulated.deployment_bytes / 1e3:.1f} kB")
        _show("all slots connected after", f"{simulated.connected_s:.1f} s")
        _show("all slots ready after", f"{simulated.ready_s:.1f} s")
        _show("sent to slots until then", f"{simulated.sent_bytes / 1e6:.2f} MB")
        _show("CPU of the driver until then", f"{time.process_time() - began_cpu:.1f} s")
        _await(lambda: sum(map(len, job.view().metrics.tasks.values())) == subtasks, job)
        messages, end = simulated.messages, time.monotonic() + asked.seconds
        enough = messages + asked.slots
        # On a busy machine fewer come than are due.
        cpu_s = _cpu_of(lambda: _await(lambda: time.monotonic() > end and simulated.messages >= enough, job))
        per_report_s = cpu_s / (simulated.messages - messages)
        _show("CPU of the driver, for a report", f"{per_report_s * 1e6:.0f} µs")
        _show("CPU of the driver per second", f"{per_report_s * asked.slots:.3f} s")
        for _ in range(_CHECKPOINTS):
            _show_checkpoint(simulated, asked.slots)
        view = job.view()
        last = view.checkpoints.last_checkpoint
        assert last is not None
        _show("metadata of a checkpoint", f"{os.path.getsize(f'{last.path}/_metadata') / 1e6:.2f} MB")
        began_s = time.thread_time()
        size = len(json.dumps(to_json(job.view())))
        _show("view of the job, for REST", f"{time.thread_time() - began_s:.2f} s of CPU, {size / 1e6:.1f} MB")
        vertex_id = view.vertices[-1].operators[0].id
        named = {name: path.format(job=job.job_id, vertex=vertex_id) for name, path in _PAGES.items()}
        _show("memory of the driver", f"{_memory_mb()} MB")
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as service:
            for name, (seconds, size) in service.submit(_answers, folder, named).result(_LIMIT_S).items():
                _show(f"REST: {name}", f"{seconds:.2f} s of CPU, {size / 1e3:.0f} kB")


def _measure_slots(asked: argparse.Namespace, folder: str) -> None:
    settings = job_settings(folder, asked.slots, asked.vertices, asked.interval)
    spark_context(settings.configuration)  # its own start does not count
    began = time.monotonic()
    job = RunningJob(keyed_graph(asked.slots, asked.vertices), settings)
    job.start()
    try:
        _await(lambda: job.status() is JobStatus.RUNNING, job)
        _show("all slots ready after", f"{time.monotonic() - began:.1f} s")
        runner = job._attempts.runner
        assert isinstance(runner, StreamRunner)
        watchers = [address.pid for address in runner.addresses.values()]
        slots = [child for watcher in watchers for child in children_of(watcher)]
        between = asked.slots * (asked.slots - 1) // 2
        _show("connections between slots", f"{between}; sockets of a slot {min(map(_sockets_of, slots))}")
        cpu_s = [_cpu_of(lambda: time.sleep(asked.seconds)), -sum(map(_cpu_of_process, slots))]
        time.sleep(asked.seconds)
        cpu_s[1] += sum(map(_cpu_of_process, slots))
        _show(
            "CPU per second, without records",
            f"driver {cpu_s[0] / asked.seconds:.3f} s, slots {cpu_s[1] / asked.seconds:.3f} s",
        )
        for _ in range(_CHECKPOINTS):
            start = time.monotonic()
            job.checkpoint().result(_LIMIT_S)
            _show("checkpoint", f"{time.monotonic() - start:.2f} s")
        _show("memory of slots", f"{sum(map(_own_mb, [*slots, *watchers])):.0f} MB")
        _show("memory of the driver", f"{_memory_mb()} MB")
    finally:
        if job.result_future.done():
            job.result()  # why it has ended
        start = time.monotonic()
        job.cancel().result(_LIMIT_S)
        _show("ended after", f"{time.monotonic() - start:.1f} s")


def _sockets_of(pid: int) -> int:
    folder = f"/proc/{pid}/fd"
    return sum(os.readlink(f"{folder}/{each}").startswith("socket:") for each in os.listdir(folder))


def _own_mb(pid: int) -> float:
    """What it would take to have one more: pages that processes share count in part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) / 1024


def _cpu_of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _show_checkpoint(simulated: SimulatedJob, slots: int) -> None:
    began, messages = time.monotonic(), simulated.messages
    cpu_s = _cpu_of(lambda: simulated.job.checkpoint().result(_LIMIT_S))
    # A slot says three things about a checkpoint; the rest are reports.
    reports = simulated.messages - messages - 3 * slots
    _show("checkpoint", f"{time.monotonic() - began:.2f} s, CPU of the driver {cpu_s:.2f} s, with {reports} reports")


def _answers(home: str, paths: dict[str, str]) -> dict[str, tuple[float, int]]:
    """As the service answers them, in a process of its own, each with a view that is asked of the driver anew."""
    measures = {}
    for name, path in paths.items():
        answer = DirectAnswers(Cluster(JobDirectory(home))).of(path)
        assert answer is not None, path
        began = time.process_time()
        content = answer()
        assert content.status == 200, content
        measures[name] = (time.process_time() - began, len(content.content))
    began = time.process_time()
    text = metrics_text(Cluster(JobDirectory(home)))
    return {**measures, "all metrics, for Prometheus": (time.process_time() - began, len(text))}


def _await(is_reached: Callable[[], bool], job: RunningJob) -> None:
    while not is_reached():
        if job.result_future.done():
            job.result()
        time.sleep(0.1)


def _cpu_of(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _memory_mb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) // 1024


def _show(name: str, value: str) -> None:
    print(f"{name:32} {value}", flush=True)


@contextmanager
def _profiled(path: str | None) -> Iterator[None]:
    """Profiles the thread that runs the job."""
    if path is None:
        yield
        return
    profile = cProfile.Profile(time.thread_time)
    run = JobAttempts.run

    def profiled_run(attempts: JobAttempts) -> None:
        profile.runcall(run, attempts)

    JobAttempts.run = profiled_run  # type: ignore[method-assign]
    yield
    profile.dump_stats(path)


if __name__ == "__main__":
    main()
