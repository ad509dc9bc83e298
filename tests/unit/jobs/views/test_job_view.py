"""The view of a job: by ids, complete, bounded, and the same after it was written down."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.graph.partitioners import Rebalance
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.attempts.attempt import JobStatistics
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.job_lifecycle import JobLifecycle
from funke.engine.jobs.views import view_making
from funke.engine.jobs.views.job_metrics import job_metrics
from funke.engine.jobs.views.job_view import CheckpointsView, CheckpointView, ExceptionView, JobView
from funke.engine.jobs.views.metric_names import metrics_by_name
from funke.engine.jobs.views.view_making import planned_view, with_executions, with_status
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import Plan, to_plan
from funke.engine.runtime.epochs.results import SubtaskReport
from funke.engine.types.job_status import JobStatus
from funke.engine.types.json_form import from_json, to_json
from tests.unit.graph.sample_graphs import GraphBuilder


def two_maps(parallelism: int = 2) -> StreamGraph:
    builder = GraphBuilder(parallelism)
    first = builder.map(builder.source(), partitioner=Rebalance(), user_line="job.py:3")
    builder.map(first, partitioner=Rebalance(), uid="second")
    return builder.graph


class SeenJob:
    """A job whose parts a test moves."""

    def __init__(self, graph: StreamGraph) -> None:
        self.graph = to_job_graph(graph)
        self.plan = to_plan(self.graph)
        self.executions = JobExecutions(self.graph, self.plan, lambda: self.now_ms)
        self.lifecycle = JobLifecycle()
        self.now_ms = 100
        self.planned = planned_view("j1", graph, self.graph, self.plan, {"a.password": "x", "b": "1"})

    def view(self, hosts: dict[int, str] | None = None) -> JobView:
        return with_executions(with_status(self.planned, self.lifecycle), self.executions, hosts or {})


def test_the_graph_is_reported_by_ids() -> None:
    job = SeenJob(two_maps())
    source, first, second = job.view().vertices
    assert [vertex.name for vertex in (source, first, second)] == ["Source: numbers", "Map", "Map"]
    assert first.operators[0].id != second.operators[0].id
    assert (first.operators[0].user_line, second.operators[0].uid) == ("job.py:3", "second")
    assert (first.level, second.level) == (source.level + 1, source.level + 2)
    edge = job.view().edges[1]
    assert (edge.source_vertex, edge.target_vertex, edge.partitioner) == (first.id, second.id, "REBALANCE")
    assert (edge.source_operator, edge.target_operator) == (first.operators[0].id, second.operators[0].id)
    assert job.view().configuration == {"a.password": "******", "b": "1"}
    assert [node["type"] for node in json.loads(job.view().plan)["nodes"]] == ["Source: numbers", "Map", "Map"]
    assert (job.view().parallelism, job.view().slots) == (2, job.plan.slots)


def test_subtasks_show_state_location_and_start_time() -> None:
    job = SeenJob(two_maps())
    job.executions.begin(0)
    job.now_ms = 250
    job.executions.enter(ExecutionState.DEPLOYING)
    (_, first, _) = job.view({0: "alpha", 1: "beta"}).vertices
    assert [(each.slot, each.host) for each in first.subtasks] == [(0, "alpha"), (1, "beta")]
    assert (first.subtasks[1].attempt, first.subtasks[1].state) == (0, ExecutionState.DEPLOYING)
    assert first.subtasks[1].entered_ms == {ExecutionState.SCHEDULED: 100, ExecutionState.DEPLOYING: 250}
    assert first.subtasks[1].since_ms == 250
    assert job.view().state_counts == {ExecutionState.DEPLOYING: 6}


def test_earlier_attempts_are_seen_as_long_as_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_making, "_MOST_PRIOR", 13)
    job = SeenJob(two_maps())
    for attempt in range(4):
        job.executions.begin(attempt)
        job.executions.cancel()
    (_, first, _) = job.view().vertices
    assert [(each.attempt, each.subtask) for each in first.prior] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert {each.state for each in first.prior} == {ExecutionState.CANCELED}


def test_status_history_and_failures() -> None:
    job = SeenJob(two_maps())
    for status in (JobStatus.RUNNING, JobStatus.FAILING):
        job.lifecycle.enter(status)
    error = JobExecutionError("ValueError: no\n  in your job: job.py:3", "Map", "Traceback:\n  line")
    error.operator_id, error.vertex_id, error.subtask, error.slot = "a1", 2, 1, 1
    error.error_type, error.user_line = "ValueError", "job.py:3"
    job.lifecycle.record(0, error)
    for status in (JobStatus.RESTARTING, JobStatus.CREATED, JobStatus.RUNNING):
        job.lifecycle.enter(status)
    view = job.view()
    assert [entry.status.name for entry in view.status_history] == [
        "CREATED",
        "RUNNING",
        "FAILING",
        "RESTARTING",
        "CREATED",
        "RUNNING",
    ]
    assert (view.status, view.restarts, view.ended_ms) == (JobStatus.RUNNING, 1, None)
    (failure,) = view.exceptions
    assert failure == ExceptionView(
        failure.timestamp_ms,
        0,
        "operator 'Map' failed: ValueError: no\n  in your job: job.py:3",
        "ValueError",
        "Traceback:\n  line",
        "Map",
        "a1",
        "job.py:3",
        2,
        1,
        1,
    )
    job.lifecycle.enter(JobStatus.FINISHED)
    assert job.view().ended_ms == job.view().status_history[-1].since_ms


def test_a_driver_that_takes_over_goes_on_with_the_history() -> None:
    before = JobLifecycle()
    before.enter(JobStatus.FAILING)
    before.record(0, ValueError("no"))
    before.enter(JobStatus.RESTARTING)
    earlier = with_status(JobView("j", "n", JobStatus.CREATED), before)
    after = JobLifecycle(JobStatus.RECONCILING, earlier=earlier)
    after.record(1, KeyError("x"))
    assert [status.name for status, _ in after.history] == ["CREATED", "FAILING", "RESTARTING", "RECONCILING"]
    assert after.restarts == 1 and [each.error_type for each in after.exceptions] == ["KeyError", "ValueError"]


def test_a_view_is_bounded_however_often_the_job_restarts() -> None:
    job = SeenJob(two_maps())
    for attempt in range(100):
        job.executions.begin(attempt)
        for status in (JobStatus.FAILING, JobStatus.RESTARTING, JobStatus.CREATED):
            job.lifecycle.enter(status)
        job.lifecycle.record(attempt, JobExecutionError("x" * 100_000, "Map", "y" * 100_000))
    view = job.view()
    assert (len(view.exceptions), len(view.status_history), view.restarts) == (16, 64, 100)
    assert len(json.dumps(to_json(view))) < 600_000


def report(vertex_id: int, subtask: int, busy_ms: float, metrics: dict[int, dict[str, Any]]) -> SubtaskReport:
    return SubtaskReport(vertex_id, subtask, 0, 0, 0, None, busy_ms, metrics)


def measured(plan: Plan) -> JobStatistics:
    statistics = JobStatistics(records_read=5, epochs=2)
    statistics.epoch_ms.append(1000.0)
    for vertex in plan.graph.vertices:
        for subtask in range(vertex.parallelism):
            counts = {each.node_id: {"numRecordsIn": 10 * each.node_id + subtask} for each in vertex.operators}
            statistics.subtasks[vertex.id, subtask] = report(vertex.id, subtask, 100.0 * vertex.id, counts)
    return statistics


def test_metrics_of_operators_with_one_name_do_not_overwrite_each_other() -> None:
    job = SeenJob(two_maps())
    metrics = job_metrics(measured(job.plan), job.plan)
    source, first, second = (vertex.operators[0].id for vertex in job.view().vertices)
    assert metrics.operators[first] == {0: {"numRecordsIn": 20}, 1: {"numRecordsIn": 21}}
    assert metrics.operators[second] == {0: {"numRecordsIn": 30}, 1: {"numRecordsIn": 31}}
    named = metrics_by_name(metrics, job.view().vertices)
    assert named["Source: numbers.1.numRecordsIn"] == 11, "a name of one operator alone stands for it"
    assert (named[f"Map[{first}].0.numRecordsIn"], named[f"Map[{second}].0.numRecordsIn"]) == (20, 30)
    assert named[f"Map[{second}].1.busyTimeMsPerSecond"] > named[f"Map[{first}].1.busyTimeMsPerSecond"] > 0
    assert not any(name.startswith("Map.") for name in named)
    assert named["records_read"] == 5
    assert source in metrics.operators


def test_there_and_back_as_json() -> None:
    job = SeenJob(two_maps())
    job.executions.begin(0)
    job.lifecycle.record(0, ValueError("no"))
    checkpoint = CheckpointView(3, "checkpoint", "COMPLETED", 5, 1.5, 10, 20, path="/chk-3")
    view = replace(
        job.view({0: "alpha"}),
        metrics=job_metrics(measured(job.plan), job.plan),
        checkpoints=CheckpointsView().with_completed(checkpoint).with_restored(checkpoint),
    )
    assert from_json(JobView, json.loads(json.dumps(to_json(view)))) == view


def test_the_last_checkpoints_are_kept() -> None:
    seen = CheckpointsView()
    for number in range(1, 15):
        seen = seen.with_completed(CheckpointView(number, "checkpoint", "COMPLETED", number))
    seen = seen.with_completed(CheckpointView(15, "savepoint", "COMPLETED", 15, path="/s"))
    seen = seen.with_failed(CheckpointView(16, "checkpoint", "FAILED", 16, failure="too slow"))
    assert (seen.completed, seen.failed, [each.id for each in seen.history]) == (15, 1, list(range(7, 17)))
    assert seen.last_checkpoint is not None and seen.last_checkpoint.id == 14
    assert seen.last_completed is not None and seen.last_completed.path == "/s"
    assert seen.last_failure == "too slow"
