"""The states of subtasks: through one attempt, into the next, and when something fails or is cancelled."""

from __future__ import annotations

import pytest

from funke.engine.errors import JobExecutionError, SlotLostError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.graph.partitioners import Rebalance
from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.job_failure import to_error
from funke.engine.operators.operator import OperatorFailure
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.runtime.epochs.results import to_failure
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


def test_readers_of_the_job_hear_of_each_state_that_is_entered(executions: JobExecutions) -> None:
    seen: list[list[str]] = []
    executions.on_change = lambda: seen.append(states(executions))
    executions.begin(0)
    for state in NORMAL:
        executions.enter(state)
    assert seen == [[state.name] * 4 for state in NORMAL]


def test_a_function_fails_and_the_next_attempt_runs_everything_anew(executions: JobExecutions) -> None:
    executions.begin(0)
    for state in NORMAL[:-1]:
        executions.enter(state)
    source = executions.current[0].vertex_id
    executions.enter(ExecutionState.FINISHED, lambda each: each.vertex_id == source)
    failure = JobExecutionError("division by zero", "Reduce")
    failure.vertex_id, failure.subtask, failure.slot = executions.current[3].vertex_id, 1, 1
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


def test_of_two_operators_with_one_name_the_one_that_failed_has_failed() -> None:
    builder = GraphBuilder(1)
    first = builder.map(builder.source(), partitioner=Rebalance())
    builder.map(first, partitioner=Rebalance())
    graph = to_job_graph(builder.graph)
    executions = JobExecutions(graph, to_plan(graph))
    assert [each.title for each in executions.current] == ["Source: numbers (1/1)", "Map (1/1)", "Map (1/1)"]
    executions.begin(0)
    operator = graph.vertices[1].operators[0]
    cause = OperatorFailure(operator.location(graph.vertices[1].id, 0))
    executions.fail(to_error(to_failure(cause, slot=0)))
    assert states(executions) == ["CANCELED", "FAILED", "CANCELED"]


def test_a_key_selector_fails_where_it_runs() -> None:
    """It belongs to the receiver, but runs in the subtask that sends, which the receiver may not even have."""
    builder = GraphBuilder(2)
    builder.reduce(builder.map(builder.source(), partitioner=Rebalance()), parallelism=1)
    graph = to_job_graph(builder.graph)
    executions = JobExecutions(graph, to_plan(graph))
    executions.begin(0)
    (reducing,) = graph.vertices[2].operators
    cause = OperatorFailure(reducing.location(graph.vertices[1].id, 1))
    executions.fail(to_error(to_failure(cause, slot=1)))
    assert states(executions) == ["CANCELED", "CANCELED", "CANCELED", "FAILED", "CANCELED"]


def test_a_failure_of_nobody_in_particular_cancels_all(executions: JobExecutions) -> None:
    executions.begin(0)
    executions.fail(ConnectionError("Spark is gone"))
    assert states(executions) == ["CANCELED"] * 4
