"""Which alarm a job has, how it is acknowledged, and which ones call for a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from funke.engine.jobs.views.back_pressure import Diagnosis, PressureStatus, PressureView
from funke.engine.jobs.views.job_view import CheckpointsView, ExceptionView, HeldView, JobView, StatusEntry
from funke.engine.types.job_status import JobStatus
from funke.ops.alarms.acknowledgements import Acknowledgements
from funke.ops.alarms.alarm import Alarm, find_alarm
from funke.ops.alarms.growing_lag import growing_lag
from funke.ops.history.points import SERIES, Point
from tests.unit.ops.rest.job_samples import sample_view

NOW = 1_800_000_000_000
MINUTE = 60_000
JOB = "a" * 32


def calm(**changes: object) -> JobView:
    """A job that has nothing to complain of."""
    idle = PressureView(PressureStatus.OK, 0.0, 0.1, 0.0, 0.0, False, Diagnosis.FINE)
    view = sample_view(JOB, seen_ms=NOW, started_ms=NOW - 60 * MINUTE, exceptions=())
    vertices = tuple(
        replace(each, pressure=idle, subtasks=tuple(replace(one, pressure=idle) for one in each.subtasks))
        for each in view.vertices
    )
    return replace(view, vertices=vertices, configuration={}, status_history=(), **changes)  # type: ignore[arg-type]


def failure(ago_ms: int, message: str = "it broke") -> ExceptionView:
    return ExceptionView(NOW - ago_ms, 0, message, "KeyError", "", "parse", "b" * 32, "/home/ada/job.py:42")


def points(series: str, values: list[float], step_ms: int = 10_000) -> list[Point]:
    rest = dict.fromkeys(SERIES, float("nan"))
    return [
        Point(NOW - step_ms * (len(values) - 1 - number), tuple({**rest, series: value}.values()))
        for number, value in enumerate(values)
    ]


def text(view: JobView, seen: list[Point] | None = None) -> str:
    alarm = find_alarm(view, seen or [], NOW)
    return "" if alarm is None else alarm.text


def test_a_healthy_job_has_none() -> None:
    assert find_alarm(calm(), [], NOW) is None
    assert find_alarm(calm(status=JobStatus.FINISHED, exceptions=(failure(0),)), [], NOW) is None


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (
            calm(status=JobStatus.FAILED, ended_ms=NOW - 5 * MINUTE, exceptions=(failure(5 * MINUTE),)),
            "failed 5 min ago: job.py:42 raised KeyError: it broke in “parse”",
        ),
        (calm(status=JobStatus.SUSPENDED), "has lost its driver; “funke recover” goes on with it"),
        (calm(status=JobStatus.CREATED, waiting_for="4 slots"), "waits for 4 slots"),
        (
            calm(exceptions=(failure(MINUTE), failure(11 * MINUTE))),
            "was restarted once in the last 10 min: job.py:42 raised KeyError: it broke in “parse”",
        ),
        (
            calm(status=JobStatus.RESTARTING, exceptions=(failure(MINUTE), failure(2 * MINUTE))),
            "fails again and again, twice in the last 10 min: job.py:42 raised KeyError: it broke in “parse”",
        ),
        (
            calm(held=(HeldView(2, 1, NOW - 5 * MINUTE, "job.py:7"),)),
            '"Map -> Sink: out" holds everything up: its subtask 1 has been at one block of records for 300 s, at '
            "job.py:7. No checkpoint completes before it is through",
        ),
        (
            replace(calm(), configuration={"execution.checkpointing.interval": "1 s"}, checkpoints=CheckpointsView()),
            "has not completed a checkpoint for 1 h",
        ),
        (
            replace(sample_view(JOB, seen_ms=NOW, exceptions=()), configuration={}),
            'is slow: "Map -> Sink: out" is the bottleneck: busy 95%, "Source: orders" waits',
        ),
    ],
)
def test_what_is_wrong(view: JobView, expected: str) -> None:
    assert text(view) == expected


def test_a_job_that_has_just_been_restarted_has_time_for_its_checkpoint() -> None:
    started = (StatusEntry(JobStatus.RUNNING, NOW - 5_000),)
    view = replace(
        calm(),
        configuration={"execution.checkpointing.interval": "1 s"},
        checkpoints=CheckpointsView(),
        status_history=started,
    )
    assert find_alarm(view, [], NOW) is None


def test_more_failures_than_are_remembered_are_counted() -> None:
    view = calm(exceptions=tuple(failure(MINUTE) for _ in range(16)), restarts=94)
    assert text(view, points("restarts", [4.0, 4.0, 50.0])).startswith("fails again and again, 90 times in")


def test_a_growing_lag_is_reported_with_its_cause() -> None:
    seen = points("lag", [10_000.0 * number for number in range(1, 31)])
    assert text(calm(), seen) == (
        "falls behind: 5 min behind, 1 min more each minute. Nothing in it is busy: its records come late, or a part "
        "of its source sends nothing."
    )
    slow = find_alarm(replace(sample_view(JOB, seen_ms=NOW, exceptions=()), configuration={}), seen, NOW)
    assert slow is not None and "“" not in slow.text
    assert '1 min more each minute. "Map -> Sink: out" is the bottleneck: busy 95%' in slow.text


@pytest.mark.parametrize(
    ("series", "values", "expected"),
    [
        ("lag", [2_000.0, 60_000.0] * 20, None),
        ("lag", [300_000.0] * 30, None),
        ("lag", [400_000.0 - 10_000 * number for number in range(30)], None),
        ("lag", [1_000.0 * number for number in range(30)], None),
        (
            "pending",
            [1_000.0 * number for number in range(60)],
            "59,000 records wait in its source, 6,000 more each minute",
        ),
        ("pending", [10.0 * number for number in range(60)], None),
    ],
)
def test_what_counts_as_growing(series: str, values: list[float], expected: str | None) -> None:
    assert growing_lag(points(series, values), NOW) == expected


def _alarm(key: str = "lag", kind: str = "lag") -> Alarm:
    return Alarm(kind, "falls behind", False, key)


def test_an_acknowledgement_holds_as_long_as_the_alarm(tmp_path: Path) -> None:
    path = str(tmp_path / "acknowledged.json")
    seen = Acknowledgements(path)
    assert seen.time_of(JOB, _alarm(), NOW) is None
    seen.acknowledge(JOB, _alarm(), NOW)
    for minute in range(30):
        assert seen.time_of(JOB, _alarm(), NOW + minute * MINUTE) == NOW
    assert Acknowledgements(path).time_of(JOB, _alarm(), NOW + 30 * MINUTE) == NOW, "also for the next service"
    assert seen.time_of(JOB, _alarm("bottleneck 2"), NOW + 30 * MINUTE) is None, "another alarm"
    assert seen.time_of(JOB, _alarm(), NOW + 50 * MINUTE) is None, "it was gone in between"
    seen.withdraw(JOB)
    assert Acknowledgements(path).time_of(JOB, _alarm(), NOW + 30 * MINUTE) is None


def test_a_job_that_has_failed_stays_acknowledged_until_it_is_forgotten() -> None:
    seen = Acknowledgements()
    seen.acknowledge(JOB, _alarm("failed", "failed"), NOW)
    assert seen.time_of(JOB, _alarm("failed", "failed"), NOW + 600 * MINUTE) == NOW
    seen.forget([])
    assert seen.time_of(JOB, _alarm("failed", "failed"), NOW + 600 * MINUTE) is None
