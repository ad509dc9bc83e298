"""An hour of metrics: bounded, on disk, forgotten with the job; what points and markers say."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

from funke.engine.jobs.views.job_view import MetricsView, StatusEntry
from funke.engine.types.job_status import JobStatus
from funke.ops.history.markers import markers_of
from funke.ops.history.metric_history import HOUR_MS, INTERVAL_MS, MetricHistory
from funke.ops.history.points import SERIES, Point, event_time_lag_ms, point_of
from tests.unit.ops.rest.job_samples import MAP, SOURCE, sample_view

JOB = "a" * 32


def _point(number: int) -> Point:
    return Point(number * INTERVAL_MS, tuple(float(number) for _ in SERIES))


def test_it_keeps_an_hour_in_memory_and_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    history = MetricHistory(str(folder))
    for number in range(1000):
        history.add(JOB, _point(number))
    kept = history.of(JOB)
    assert len(kept) == HOUR_MS // INTERVAL_MS
    assert kept[-1] == _point(999)
    assert (folder / f"{JOB}.v1").stat().st_size <= 2 * len(kept) * (8 + 8 * len(SERIES))
    assert MetricHistory(str(folder)).of(JOB) == kept, "a service that starts anew still has it"


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    history = MetricHistory(str(tmp_path / "history"))
    for number in range(3):
        history.add(JOB, _point(number))
    path = tmp_path / "history" / f"{JOB}.v1"
    path.write_bytes(path.read_bytes()[:-5])
    again = MetricHistory(str(tmp_path / "history"))
    assert again.of(JOB) == (_point(0), _point(1))
    again.add(JOB, _point(4))
    assert MetricHistory(str(tmp_path / "history")).of(JOB) == (_point(0), _point(1), _point(4))


def test_what_was_seen_before_is_left_out() -> None:
    history = MetricHistory()
    history.add(JOB, _point(1))
    history.add(JOB, replace(_point(1), at_ms=INTERVAL_MS + 1))
    assert history.of(JOB) == (_point(1),)


def test_ended_jobs_leave_memory_and_unknown_ones_the_disk(tmp_path: Path) -> None:
    history = MetricHistory(str(tmp_path / "history"))
    history.add(JOB, _point(1))
    history.forget(running=(), job_ids=(JOB,))
    assert history.of(JOB) == (_point(1),)
    history.forget(running=(), job_ids=())
    assert history.of(JOB) == ()
    assert os.listdir(tmp_path / "history") == []


def test_a_full_disk_costs_no_more_than_the_file(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("not a folder")
    history = MetricHistory(str(tmp_path / "history"))
    history.add(JOB, _point(1))
    assert history.of(JOB) == (_point(1),)


def test_what_a_point_holds() -> None:
    point = point_of(sample_view(JOB))
    assert (point.at_ms, point.value("busy"), point.value("backpressured")) == (9_000, 0.95, 0.8)
    assert (point.value("memory"), point.value("checkpoints"), point.value("state")) == (5_000, 2, 900)
    assert math.isnan(point.value("pending"))
    down = point_of(sample_view(JOB, JobStatus.RESTARTING))
    assert down.value("records-in") == 0, "metrics of the attempt before tell nothing now"
    assert math.isnan(down.value("busy"))


def _marked(*marks: int, seen_ms: int) -> float:
    operators = {MAP: {number: {"currentInputWatermark": mark} for number, mark in enumerate(marks)}}
    return event_time_lag_ms(replace(sample_view(JOB), metrics=MetricsView({}, {}, operators), seen_ms=seen_ms))


def test_the_lag_is_that_of_the_last_watermark() -> None:
    now = 1_800_000_000_000
    assert _marked(now - 5_000, now - 9_000, seen_ms=now) == 9_000
    assert math.isnan(_marked(-(2**63), seen_ms=now)), "no watermark yet"
    assert math.isnan(_marked(2**63 - 1, seen_ms=now)), "the end of input"
    assert math.isnan(_marked(4_000, seen_ms=now)), "test data of 1970"
    operators = {SOURCE: {0: {"currentEmitEventTimeLag": 700}}}
    assert event_time_lag_ms(replace(sample_view(JOB), metrics=MetricsView({}, {}, operators))) == 700


def test_what_happened_is_marked() -> None:
    statuses = [(JobStatus.CREATED, 900), (JobStatus.RUNNING, 1_500), (JobStatus.FAILING, 1_600)]
    statuses += [(JobStatus.RESTARTING, 1_650), (JobStatus.CREATED, 1_660), (JobStatus.RUNNING, 1_700)]
    view = sample_view(JOB, status_history=tuple(StatusEntry(*each) for each in statuses))
    points = [Point(at, tuple(at / 100 for _ in SERIES)) for at in (1_000, 1_100)]
    assert [(each.at_ms, each.kind, each.text) for each in markers_of(view, points)] == [
        (1_100, "checkpoint", "checkpoint"),
        (1_500, "deployed", "deployed, from savepoint 3"),
        (1_600, "failed", "failed"),
        (1_700, "restarted", "running again"),
        (1_850, "savepoint", "savepoint 3"),
        (2_130, "checkpoint", "checkpoint 4"),
        (3_010, "failed checkpoint", "failed checkpoint 5"),
    ]
