"""Times on a Spark standalone cluster of two workers, and of a service's standby: `python benchmarks/cluster.py`.

Nothing of the measured time is CPU time alone, so the machine's load stands beside each figure.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from funke.engine.jobs.records.job_record import JobRecord
from funke.engine.types.job_status import JobStatus
from funke.ops.service.service_folder import ServiceFolder
from tests.harness.host_cluster import HostCluster
from tests.harness.standalone_cluster import StandaloneCluster
from tools.killable_job import KillableJob

_LIMIT_S = 300.0
_LOOK_S = 0.02
# As KillableJob sets it.
_RESTART_DELAY_S = 0.1
_PROGRAMS = Path(__file__).resolve().parent / "programs"
_ROWS = 20_000_000
# The lowest of so many counts: other processes only add to it.
_ROUNDS = 2
_OPTIONS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
}


def _awaited(is_reached: Callable[[], bool], what: str) -> float:
    """When it was reached, by the steady clock."""
    end = time.monotonic() + _LIMIT_S
    while not is_reached():
        if time.monotonic() > end:
            raise SystemExit(f"not within {_LIMIT_S:g} s: {what}")
        time.sleep(_LOOK_S)
    return time.monotonic()


def _job(cluster: StandaloneCluster, folder: Path, name: str) -> KillableJob:
    return KillableJob(folder / name, 10_000_000, "400/second", {"spark.master": cluster.url, **_OPTIONS})


def _record(job: KillableJob) -> JobRecord:
    _awaited(lambda: job.record() is not None, "the job has a record")
    record = job.record()
    assert record is not None
    return record


def _checkpoint(record: JobRecord) -> str | None:
    return record.state().checkpoint


def _is_running(record: JobRecord) -> bool:
    view = record.view()
    states = {} if view is None else view.state_counts
    return record.state().status is JobStatus.RUNNING and {state.name for state in states} == {"RUNNING"}


def submission_and_loss(folder: Path) -> dict[str, float]:
    """From `funke run` until both subtasks run; from an executor's death to the next checkpoint, which commits."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    cluster = StandaloneCluster(folder)
    first, second = _job(cluster, folder, "first"), _job(cluster, folder, "second")
    try:
        # The cluster is warm when it has run a job.
        first.start()
        record = _record(first)
        _awaited(lambda: _checkpoint(record) is not None, "the first job takes a checkpoint")
        first.command("cancel", record.job_id)
        first.wait(_LIMIT_S)
        began = time.monotonic()
        second.start()
        record = _record(second)
        submitted_s = _awaited(lambda: _is_running(record), "the second job runs") - began
        _awaited(lambda: _checkpoint(record) is not None, "the second job takes a checkpoint")
        before = record.owner()
        assert before is not None
        killed = time.monotonic()
        for pid in cluster.executors(0):
            os.kill(pid, signal.SIGKILL)
        log = second.log
        noticed = _awaited(lambda: "restarting the job" in log(), "the job restarts")
        newest = _checkpoint(record)
        committed = _awaited(lambda: _checkpoint(record) != newest, "a checkpoint after the restart")
        second.command("cancel", record.job_id)
        second.wait(_LIMIT_S)
    finally:
        first.close()
        second.close()
        cluster.close()
    return {
        "submission to RUNNING (s)": submitted_s,
        "executor killed to restart (s)": noticed - killed,
        "executor killed to committed, beyond the restart delay (s)": committed - killed - _RESTART_DELAY_S,
    }


def takeover(folder: Path) -> dict[str, float]:
    """From the death of a service that looks after three jobs until its standby has looked after all of them."""
    job = KillableJob(folder / "service", 10_000_000, "400/second")
    settings = ["-Drest.port=0", "-Dfunke.service.warm-driver=false", "-Dtaskmanager.numberOfTaskSlots=8"]
    try:
        home = ServiceFolder(str(job.home))
        for standby in ([], ["--standby"]):
            done = job.command("start-cluster", *settings, *standby, seconds=_LIMIT_S)
            assert done.returncode == 0, done.stderr
        options = ["-Dexecution.checkpointing.interval=300ms", f"-Dexecution.checkpointing.dir={job.checkpoints}"]
        for number in range(3):
            program = [str(job.program), str(folder / f"out{number}"), "10000000", "400/second"]
            done = job.command("run", "-d", *options, *program, seconds=_LIMIT_S)
            assert done.returncode == 0, done.stderr
        records = job.job_records()
        for record in records:
            _awaited(lambda: _checkpoint(record) is not None, "the job takes a checkpoint")  # noqa: B023
        owners = [record.owner() for record in records]
        leader = home.address()
        assert leader is not None
        killed = time.monotonic()
        os.kill(leader.pid, signal.SIGKILL)
        # A service says where it is when it has looked at all jobs for the first time.
        led_at = _awaited(lambda: (now := home.address()) is not None and now.pid != leader.pid, "a standby leads")
        assert [record.owner() for record in records] == owners, "a job was disturbed"
        job.command("stop-cluster", seconds=_LIMIT_S)
    finally:
        job.close()
    return {"leader's death to jobs supervised again (s)": led_at - killed}


def two_hosts(folder: Path) -> dict[str, float]:
    """The CPU time of two slots on two hosts, and of two slots on embedded Spark, for the same records."""
    cluster = HostCluster(folder)
    program = str(_PROGRAMS / "counted_slots.py")
    try:
        used: dict[str, list[float]] = {"embedded": [], "hosts": []}
        for number in range(_ROUNDS):
            for where, seconds in used.items():
                results = cluster.shared / f"{where}{number}"
                results.mkdir()
                arguments = [str(_ROWS), str(results)]
                options = {"spark.executor.cores": "1", "spark.cores.max": "2"} if where == "hosts" else {}
                command = cluster.command(program, arguments, options)
                if where == "embedded":
                    command = cluster.funke("run", program, *arguments)
                done = cluster.client.run("env", f"FUNKE_HOME={results}/home", *command, timeout_s=1200)
                assert done.returncode == 0, done.stderr
                counts = [path.read_text().split() for path in results.glob("slot-*")]
                assert sum(int(records) for _, records in counts) == _ROWS
                seconds.append(sum(float(cpu_s) for cpu_s, _ in counts))
    finally:
        cluster.close()
    on_hosts, embedded = min(used["hosts"]), min(used["embedded"])
    return {
        "rows": _ROWS,
        "CPU of slots on two hosts (s)": on_hosts,
        "CPU of slots on embedded Spark (s)": embedded,
        "keyed count: rows per CPU second, two hosts / embedded": embedded / on_hosts,
    }


def main() -> None:
    """Prints each figure with the load of the machine."""
    for measure in (submission_and_loss, takeover, two_hosts):
        if sys.argv[1:] and measure.__name__ not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            load = os.getloadavg()[0]
            values = {name: round(value, 2) for name, value in measure(Path(folder)).items()}
            print(json.dumps({**values, "load before": round(load, 1), "load after": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
