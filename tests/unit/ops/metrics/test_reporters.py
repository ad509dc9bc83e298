"""Figures for others: Prometheus' lines with Flink's names and labels, and lines in a log."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import httpx
import pytest

from funke.engine.config.settings import Settings
from funke.ops.metrics.prometheus import prometheus_text
from funke.ops.metrics.reporters import report_lines, start_reporters
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.job_directory import JobDirectory
from tests.unit.ops.rest.job_samples import MAP, sample_view, submit

JOB = "1" * 32


def test_names_and_labels_are_flinks() -> None:
    lines = prometheus_text([sample_view(JOB)], {"numRunningJobs": 1, "version": "text"}).decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    (running,) = [line for line in values if line.startswith("flink_jobmanager_numRunningJobs{")]
    assert values[running] == "1.0"
    (restarts,) = [line for line in values if line.startswith("flink_jobmanager_job_numRestarts{")]
    assert f'job_id="{JOB}"' in restarts and 'job_name="orders"' in restarts
    tasks = [line for line in values if line.startswith("flink_taskmanager_job_task_numRecordsIn{")]
    assert [values[line] for line in tasks] == ["6.0", "2.0"]
    for label in (
        'task_name="Map -> Sink: out"',
        f'task_id="{MAP}"',
        'subtask_index="0"',
        'tm_id="worker-1-111111111111"',
    ):
        assert label in tasks[0]
    # Of a function's own: a meter has its rate under its name, as in Flink.
    own = [line for line in values if line.startswith("flink_taskmanager_job_task_operator_my_meter{")]
    assert [values[line] for line in own] == ["0.5"] and 'operator_name="Map"' in own[0]
    assert not any("version" in line for line in values)
    assert "# TYPE flink_taskmanager_job_task_numRecordsIn gauge" in lines


def test_a_port_of_its_own_and_lines_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = submit(str(tmp_path / "home"))
    cluster = Cluster(JobDirectory(str(tmp_path / "home")))
    settings = Settings(
        {
            "metrics.reporter.prom.factory.class": "org.apache.flink.metrics.prometheus.PrometheusReporterFactory",
            "metrics.reporter.prom.port": "0",
            "metrics.reporter.log.factory.class": "org.apache.flink.metrics.slf4j.Slf4jReporterFactory",
            "metrics.reporter.log.interval": "1 s",
            "metrics.reporter.other.factory.class": "org.apache.flink.metrics.graphite.GraphiteReporterFactory",
        }
    )
    with caplog.at_level(logging.INFO, "funke.metrics"):
        closing = start_reporters(settings, cluster)
        try:
            assert len(closing) == 2
            url = next(record.args[1] for record in caplog.records if record.args and len(record.args) == 2)  # type: ignore[index]
            answer = httpx.get(f"{url}/metrics")
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
            assert "flink_jobmanager_job_numRestarts" in answer.text
            assert httpx.get(f"{url}/jobs").status_code == 404
            end = time.monotonic() + 30
            while "Map -> Sink: out.0.numRecordsIn: 6" not in caplog.text:
                assert time.monotonic() < end
                time.sleep(0.05)
        finally:
            for close in closing:
                close()
            job.release()
    assert "worker-1.taskmanager.orders.Map.0.my.meter: 0.5" in caplog.text
    assert report_lines(Cluster(JobDirectory(str(tmp_path)))) == []
