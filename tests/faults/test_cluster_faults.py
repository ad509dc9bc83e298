"""A job moves from a laptop to a cluster of two workers; one is lost with its executor: it goes on upon the other."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from funke.engine.jobs.records.job_record import JobRecord
from tests.harness.standalone_cluster import StandaloneCluster
from tools import soak_job
from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(480),
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

REGIONS = Path(__file__).parent / "programs" / "regions_job.py"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    started = StandaloneCluster(tmp_path)
    yield started
    started.close()


def options_of(cluster: StandaloneCluster) -> dict[str, str]:
    return {
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "100s",
    }


def wait_for_checkpoint(job: KillableJob) -> JobRecord:
    # Executors and slots are new processes, on a machine that runs other tests beside.
    end = time.monotonic() + 120
    while (record := job.record()) is None or record.state().checkpoint is None:
        assert time.monotonic() < end and job.process is not None and job.process.poll() is None, job.log()
        time.sleep(0.1)
    return record


def test_a_job_moves_to_a_cluster_with_a_savepoint_and_loses_a_worker(
    cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # Paced so that it is far from its end however long a command takes.
    before = KillableJob(tmp_path / "before", 4000, "20/checkpoint", {})
    before.start()
    try:
        record = wait_for_checkpoint(before)
        stopped = before.command("stop", "-p", str(tmp_path / "savepoints"), record.job_id)
        assert stopped.returncode == 0, stopped.stderr + before.log()
    finally:
        before.close()
    (savepoint,) = (tmp_path / "savepoints").iterdir()
    # With local recovery the slots that are left start where they were.
    options = {**options_of(cluster), "execution.state-recovery.from-local": "true"}
    after = KillableJob(tmp_path / "after", 4000, "400/second", options)
    after.start(str(savepoint))
    try:
        wait_for_checkpoint(after)
        executors = cluster.executors(0), cluster.executors(1)
        assert all(executors), "slots on both workers"
        cluster.kill_worker(0)
        after.run_to_the_end(120)
    finally:
        after.close()
    written = [soak_job.committed(job.output) for job in (before, after)]
    assert all(written) and written[0] + written[1] == soak_job.expected(4000)
    assert "restarting the job" in after.log()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in executors[0])


@pytest.mark.parametrize("is_worker_lost", [False, True])
def test_an_executor_is_lost_with_the_region_on_it(
    cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_worker_lost: bool
) -> None:
    """With its worker, there is no other place for its slots: both regions then share what is left."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # There are fewer places than slots, and more are not waited for.
    options = {**options_of(cluster), "spark.cores.max": "2"}
    job = KillableJob(tmp_path / "job", 2000, "100/checkpoint", options, program=REGIONS)
    job.start()
    try:
        wait_for_checkpoint(job)
        if is_worker_lost:
            cluster.kill_worker(0)
        else:
            for pid in cluster.executors(0):
                os.kill(pid, signal.SIGKILL)
        job.run_to_the_end(240)
    finally:
        job.close()
    assert "restarting a region of the job" in job.log()
    assert ("restarting the job" in job.log()) is is_worker_lost, job.log()
    for name in ("left", "right"):
        assert soak_job.committed(job.output / name) == soak_job.expected(2000)


def test_a_worker_that_stands_still(
    cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark notices an executor that says nothing; the slots there would never end their connections.
    quick = {
        "spark.network.timeout": "8s",
        "spark.network.timeoutInterval": "1s",
        "spark.executor.heartbeatInterval": "1s",
    }
    job = KillableJob(tmp_path / "job", 4000, "400/second", {**options_of(cluster), **quick})
    job.start()
    stopped: list[int] = []
    try:
        wait_for_checkpoint(job)
        stopped = cluster.stop_worker(0)
        job.run_to_the_end(120)
        outcome = job.outcome()
    finally:
        job.close()
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert outcome.is_exact, (outcome.lost, outcome.duplicated)
    assert "restarting the job" in job.log()
