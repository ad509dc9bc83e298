"""On a cluster of two workers one is lost with its executor: the job goes on upon the other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.standalone_cluster import StandaloneCluster
from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(240),
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    started = StandaloneCluster(tmp_path)
    yield started
    started.close()


def test_a_lost_worker(cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    options = {"spark.master": cluster.url, "spark.executor.memory": "512m", "spark.executor.cores": "1"}
    job = KillableJob(tmp_path / "job", 4000, "400/second", options)
    job.start()
    try:
        end = time.monotonic() + 60
        while (record := job.record()) is None or record.state().checkpoint is None:
            assert time.monotonic() < end and job.process is not None and job.process.poll() is None, job.log()
            time.sleep(0.1)
        executors = cluster.executors(0), cluster.executors(1)
        assert all(executors), "slots on both workers"
        cluster.kill_worker(0)
        job.run_to_the_end(90)
        outcome = job.outcome()
    finally:
        job.close()
    assert outcome.is_exact, (outcome.lost, outcome.duplicated)
    assert "restarting the job" in job.log()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in executors[0])
