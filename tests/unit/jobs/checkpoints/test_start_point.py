"""A program and the state of an earlier one: what is matched, and what is rejected."""

from __future__ import annotations

import re
from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.graph.job_graph import JobGraph
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.checkpoints.start_point import matched_graph, operator_entries
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH
from tests.unit.graph.sample_graphs import GraphBuilder


def program(parallelism: int = 2, **settings: Any) -> StreamGraph:
    builder = GraphBuilder(parallelism=parallelism)
    builder.map(builder.source(parallelism=parallelism), "count")
    for name, value in settings.items():
        object.__setattr__(builder.graph, name, value)
    return builder.graph


def saved(graph: JobGraph, **changes: Any) -> Checkpoint:
    """A checkpoint in which the last operator of every vertex has state."""
    ids = [vertex.operators[-1].operator_id for vertex in graph.vertices]
    handle = SnapshotHandle(tuple(ids), 0, 1, "1-0-0", 5)
    return Checkpoint("old", 1, 1, snapshots=(handle,), operators=operator_entries(graph), path="/savepoint", **changes)


def test_the_same_program_is_matched() -> None:
    graph = program()
    job_graph = to_job_graph(graph)
    assert matched_graph(job_graph, graph, saved(job_graph), False) == job_graph


def test_state_without_an_operator_is_named_unless_it_may_be_left_out() -> None:
    graph = program()
    job_graph = to_job_graph(graph)
    strange = Checkpoint("old", 1, 1, sources={"abc": b""}, path="/savepoint")
    with pytest.raises(StateError, match=re.escape("no operator of this job claims: 'abc' (no uid, id abc)")):
        matched_graph(job_graph, graph, strange, False)
    assert matched_graph(job_graph, graph, strange, True) == job_graph


def test_the_number_of_key_groups_is_taken_over_if_the_program_sets_none() -> None:
    before = to_job_graph(program(default_max_parallelism=16))
    graph = program()
    job_graph = to_job_graph(graph)
    assert {vertex.max_parallelism for vertex in job_graph.vertices} == {128}
    matched = matched_graph(job_graph, graph, saved(before), False)
    assert {vertex.max_parallelism for vertex in matched.vertices} == {16}


def test_the_hash_of_the_state_is_taken_over() -> None:
    graph = program()
    job_graph = to_job_graph(graph)
    assert (job_graph.key_hash, to_plan(job_graph).graph.key_hash) == (NEWEST_KEY_HASH, NEWEST_KEY_HASH)
    matched = matched_graph(job_graph, graph, saved(job_graph, key_hash=FIRST_KEY_HASH), False)
    plan = to_plan(matched)
    assert plan.graph.key_hash == FIRST_KEY_HASH
    assert plan.with_operations(lambda operator: operator.operation).graph.key_hash == FIRST_KEY_HASH


def test_another_number_of_key_groups_is_rejected_if_the_program_sets_it() -> None:
    before = to_job_graph(program(default_max_parallelism=16))
    graph = program(default_max_parallelism=32)
    with pytest.raises(StateError, match="maximum parallelism of 16, and this job sets 32"):
        matched_graph(to_job_graph(graph), graph, saved(before), False)


def test_more_subtasks_than_key_groups_are_rejected() -> None:
    before = to_job_graph(program(default_max_parallelism=4))
    graph = program(parallelism=5)
    with pytest.raises(StateError, match="maximum parallelism of 4, so it cannot run with a parallelism of 5"):
        matched_graph(to_job_graph(graph), graph, saved(before), False)
