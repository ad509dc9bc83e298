"""The states of subtasks: through one attempt, into the next, and when something fails or is cancelled."""

from __future__ import annotations

import pytest

from funke.engine.errors import JobExecutionError, SlotLostError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.job_executions import JobExecutions
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import to_plan
from tests.unit.graph.sample_graphs import GraphBuilder

NORMAL = (ExecutionState.DEPLOYING, ExecutionState.INITIALIZING, ExecutionState.RUNNING, ExecutionState.FINISHED)


@pytest.fixture
def executions() -> JobExecutions:
    """Two sources, one map beside each of them, and two reduces."""
    builder = GraphBuilder(2)
    builder.reduce(builder.map(builder.source()))
    graph = to_job_graph(builder.graph)
    return JobExecutions(graph, to_plan(graph))


def states(executions: JobExecutions) -> list[str]:
    return [each.state.name for each in executions.current]


def test_an_attempt_that_ends_well(executions: JobExecutions) -> None:
    assert states(executions) == ["CREATED"] * 4
    executions.begin(0)
    assert states(executions) == ["SCHEDULED"] * 4
    for state in NORMAL:
        executions.enter(state)
        assert states(executions) == [state.name] * 4
    executions.cancel()
    executions.enter(ExecutionState.RUNNING)
    assert states(executions) == ["FINISHED"] * 4, "nothing follows the end"


def test_a_function_fails_and_the_next_attempt_runs_everything_anew(executions: JobExecutions) -> None:
    executions.begin(0)
    for state in NORMAL[:-1]:
        executions.enter(state)
    source = executions.current[0].vertex_id
    executions.enter(ExecutionState.FINISHED, lambda each: each.vertex_id == source)
    failure = JobExecutionError("division by zero", "Reduce")
    failure.slot = 1
    executions.fail(failure)
    assert states(executions) == ["FINISHED", "FINISHED", "CANCELED", "FAILED"]
    executions.begin(1)
    assert [(each.attempt, each.state.name) for each in executions.current] == [(1, "SCHEDULED")] * 4
    failed = executions.current[3]
    assert [(each.attempt, each.state.name) for each in executions.prior(failed.vertex_id, 1)] == [(0, "FAILED")]


def test_all_subtasks_of_a_lost_slot_have_failed(executions: JobExecutions) -> None:
    executions.begin(0)
    lost = SlotLostError("slot 0 is gone")
    lost.slot = 0
    executions.fail(lost)
    assert states(executions) == ["FAILED", "CANCELED", "FAILED", "CANCELED"]


def test_a_failure_of_nobody_in_particular_cancels_all(executions: JobExecutions) -> None:
    executions.begin(0)
    executions.fail(ConnectionError("Spark is gone"))
    assert states(executions) == ["CANCELED"] * 4
