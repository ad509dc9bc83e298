"""Backpressure as it is shown: levels, what buffers tell about the cause, and how old a status may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from funke.engine.config.settings import Settings
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.back_pressure import Diagnosis, PressureGauge, PressureStatus, diagnose, status_of
from funke.engine.jobs.views.job_view import JobView
from funke.engine.jobs.views.view_making import with_pressures
from funke.engine.types.json_form import from_json, to_json
from tests.unit.jobs.views.test_job_view import SeenJob, two_maps

OK, LOW, HIGH = PressureStatus.OK, PressureStatus.LOW, PressureStatus.HIGH


@pytest.mark.parametrize(
    ("ratio", "status"), [(0.0, OK), (0.01, OK), (0.1, OK), (0.11, LOW), (0.5, LOW), (0.51, HIGH), (1.0, HIGH)]
)
def test_levels(ratio: float, status: PressureStatus) -> None:
    assert status_of(ratio) is status


@pytest.mark.parametrize(
    ("in_usage", "out_usage", "busy", "actual"),
    [
        # input, output, busy
        (0.0, 0.0, 0.0, "fine"),
        (0.2, 0.1, 0.6, "fine"),
        (1.0, 1.0, 0.1, "pressed by those behind it"),
        (0.0, 1.0, 0.1, "pressed by those behind it"),
        (0.0, 1.0, 1.0, "pressed by those behind it"),
        (1.0, 0.0, 1.0, "probably the root"),
        (1.0, 0.2, 0.7, "probably the root"),
        # Within one slot no buffers are full, but somebody takes all the time.
        (0.0, 0.0, 0.95, "probably the root"),
    ],
)
def test_what_buffers_tell(in_usage: float, out_usage: float, busy: float, actual: str) -> None:
    assert diagnose(in_usage, out_usage, busy).value == actual


def task(pressed_ms: float, busy_ms: float, in_usage: float = 0.0, out_usage: float = 0.0) -> dict[str, Any]:
    return {
        "backPressuredTimeMsPerSecond": pressed_ms,
        "busyTimeMsPerSecond": busy_ms,
        "inPoolUsage": in_usage,
        "outPoolUsage": out_usage,
        "isBackPressured": pressed_ms > 0,
    }


def test_subtasks_and_vertices_that_run_have_a_status() -> None:
    job = SeenJob(two_maps())
    job.executions.begin(0)
    job.executions.enter(ExecutionState.RUNNING)
    source, first, second = job.view().vertices
    job.executions.enter(ExecutionState.FINISHED, lambda each: each.vertex_id == second.id)
    tasks = {
        # One of a hundred outputs that are full: the share of buffers says little.
        source.id: {0: task(900, 50, out_usage=0.01), 1: task(0, 100)},
        first.id: {0: task(0, 990, in_usage=1.0), 1: task(0, 0)},
        second.id: {0: task(0, 500), 1: task(0, 500)},
    }
    view = with_pressures(job.view(), PressureGauge(Settings()).look(tasks))
    seen = {vertex.id: vertex for vertex in view.vertices}
    assert [each.pressure and each.pressure.status for each in seen[source.id].subtasks] == [HIGH, OK]
    assert [each.pressure and each.pressure.is_back_pressured for each in seen[source.id].subtasks] == [True, False]
    pressed, root = seen[source.id].pressure, seen[first.id].pressure
    assert pressed is not None and root is not None
    assert (pressed.status, pressed.ratio, pressed.diagnosis) == (HIGH, 0.9, Diagnosis.PRESSED)
    assert (root.status, root.busy, root.in_usage, root.diagnosis) == (OK, 0.99, 1.0, Diagnosis.ROOT)
    assert seen[second.id].pressure is None and seen[second.id].subtasks[0].pressure is None, "it has ended"
    assert from_json(JobView, to_json(view)) == view


def test_in_epochs_nobody_waits_for_room() -> None:
    job = SeenJob(two_maps())
    job.executions.begin(0)
    job.executions.enter(ExecutionState.RUNNING)
    tasks = {vertex.id: {0: {"busyTimeMsPerSecond": 1000.0}} for vertex in job.view().vertices}
    view = with_pressures(job.view(), PressureGauge(Settings()).look(tasks))
    assert view == replace(job.view(), seen_ms=view.seen_ms)


def test_a_status_is_shown_as_long_as_the_configuration_says() -> None:
    now = 0.0
    gauge = PressureGauge(Settings({"web.backpressure.refresh-interval": "10000"}), lambda: now)
    newest = PressureGauge(Settings(), lambda: now)

    def status_after(gauge: PressureGauge, pressed_ms: float) -> PressureStatus:
        return gauge.look({1: {0: task(pressed_ms, 0)}})[1][0].status

    assert (status_after(gauge, 0), status_after(newest, 0)) == (OK, OK)
    now = 9.0
    assert (status_after(gauge, 300), status_after(newest, 300)) == (OK, LOW)
    now = 10.0
    assert (status_after(gauge, 900), status_after(newest, 900)) == (HIGH, HIGH)
