"""The graphs as text."""

from __future__ import annotations

import pytest

from funke.engine.graph.execution_graph import to_execution_graph
from funke.engine.graph.stream_graph import ChainingStrategy
from funke.engine.graph.text_forms import to_text
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.exchange_mode import ExchangeMode
from funke.engine.planner.explain import explain
from funke.engine.planner.plan import to_plan
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.output_tag import OutputTag
from tests.unit.graph.sample_graphs import GraphBuilder


@pytest.fixture
def builder() -> GraphBuilder:
    builder = GraphBuilder(2)
    source = builder.source(parallelism=1, output_type=Types.INT())
    split = builder.process(source, "split", uid="splitter")
    counted = builder.reduce(split, chaining=ChainingStrategy.NEVER)
    builder.sink(counted)
    builder.sink(split, "late", tag=OutputTag("late"), slot_sharing_group="side")
    return builder


def test_stream_graph(builder: GraphBuilder) -> None:
    assert (
        to_text(builder.graph)
        == """\
StreamGraph 'test job' (streaming): 5 nodes
  1 Source: numbers  [parallelism 1, Integer]
  2 split  [parallelism 2, uid 'splitter']
    <- 1 REBALANCE
  3 Reduce  [parallelism 2, chaining NEVER]
    <- 2 HASH
  4 Sink: out  [parallelism 2]
    <- 3 FORWARD
  5 Sink: late  [parallelism 2, slot group 'side']
    <- 2 side output 'late' FORWARD"""
    )


def test_job_graph(builder: GraphBuilder) -> None:
    assert (
        to_text(to_job_graph(builder.graph))
        == """\
JobGraph 'test job': 5 vertices
  vertex 1: Source: numbers  [parallelism 1, max parallelism 128, slot group 'default']
  vertex 2: split  [parallelism 2, max parallelism 128, slot group 'default']
    <- vertex 1 REBALANCE
  vertex 3: Reduce  [parallelism 2, max parallelism 128, slot group 'default']
    <- vertex 2 HASH
  vertex 4: Sink: out  [parallelism 2, max parallelism 128, slot group 'default']
    <- vertex 3 FORWARD
  vertex 5: Sink: late  [parallelism 2, max parallelism 128, slot group 'side']
    <- vertex 2 side output 'late' FORWARD"""
    )


def test_execution_graph() -> None:
    builder = GraphBuilder(2)
    builder.reduce(builder.source(parallelism=1))
    assert (
        to_text(to_execution_graph(to_job_graph(builder.graph)))
        == """\
ExecutionGraph 'test job': 3 tasks, 2 slots
  vertex 1: Source: numbers
    Source: numbers (1/1) CREATED
    -> result 0 to vertex 2, HASH, 1 partition of 2
  vertex 2: Reduce
    Reduce (1/2) CREATED
    Reduce (2/2) CREATED"""
    )


def test_explain_shows_levels_slots_and_spark_stages() -> None:
    builder = GraphBuilder(2)
    parsed = builder.map(builder.source(), "parse")
    counted = builder.reduce(builder.map(parsed, "enrich"))
    builder.sink(counted, parallelism=1)
    assert (
        explain(to_plan(to_job_graph(builder.graph)), ExchangeMode(False, "the test says so"))
        == """\
Plan (streaming): 3 levels, 2 slots
  level 0 (sources)
    segment 1: Source: numbers, parse, enrich  [slots 0 to 1]
      -> segment 4 HASH
  level 1
    segment 4: Reduce  [slots 0 to 1]
      -> segment 5 REBALANCE
  level 2
    segment 5: Sink: out  [slot 0]
Exchange blocking: the test says so
  stage 0 of an epoch: read, 2 tasks (one per slot)
  stage 1 of an epoch: deliver level 1, 2 tasks (one per slot)
  stage 2 of an epoch: deliver level 2, 2 tasks (one per slot)"""
    )


def test_slot_sharing_groups_have_slots_of_their_own() -> None:
    builder = GraphBuilder(2)
    builder.sink(builder.reduce(builder.source()), slot_sharing_group="side", parallelism=1)
    plan = to_plan(to_job_graph(builder.graph))
    assert plan.slots == 3
    assert "segment 3: Sink: out  [slot 2]" in explain(plan, ExchangeMode(True, "so"))


def test_anything_else_has_no_text_form() -> None:
    with pytest.raises(TypeError, match="a list has no text form"):
        to_text([])
