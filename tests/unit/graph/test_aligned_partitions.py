"""A custom partitioner counts the subtasks of the operator behind it, and places records exactly there."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import GraphError
from funke.engine.graph.aligned_partitions import with_aligned_partitions
from funke.engine.graph.partitioners import Custom, Forward, Rebalance
from funke.engine.graph.stream_graph import StreamNode
from tests.unit.graph.sample_graphs import GraphBuilder

BY_VALUE = Custom(lambda key, count: key % count, abs)


@pytest.fixture
def builder() -> GraphBuilder:
    return GraphBuilder(parallelism=2)


def partition(builder: GraphBuilder, **settings: Any) -> StreamNode:
    return builder.map(builder.source(), "Partition", follows_receiver=True, partitioner=BY_VALUE, **settings)


def receivers(builder: GraphBuilder, node: StreamNode) -> int:
    """How many receivers the partitioner counts."""
    graph = with_aligned_partitions(builder.graph)
    return graph.parallelism_of(graph.nodes[node.id])


def test_the_next_operator_says_how_many(builder: GraphBuilder) -> None:
    node = partition(builder)
    builder.map(node, "second", parallelism=3)
    assert receivers(builder, node) == 3


def test_so_does_a_sink_and_a_parallelism_of_its_own_does_not_count(builder: GraphBuilder) -> None:
    node = partition(builder, parallelism=5)
    builder.sink(node)
    assert receivers(builder, node) == 2


def test_receivers_that_agree(builder: GraphBuilder) -> None:
    node = partition(builder)
    builder.map(node, "second", parallelism=4)
    builder.sink(node, parallelism=4)
    assert receivers(builder, node) == 4


def test_receivers_that_do_not_agree_are_rejected(builder: GraphBuilder) -> None:
    node = partition(builder, user_line="job.py:7")
    builder.map(node, "second", parallelism=4)
    builder.map(node, "third", parallelism=3)
    with pytest.raises(GraphError, match=r"'second' with 4 and 'third' with 3; give them the same(.|\n)*job.py:7"):
        with_aligned_partitions(builder.graph)


@pytest.mark.parametrize("partitioner", [Rebalance(), Forward(), BY_VALUE], ids=lambda value: type(value).__name__)
def test_records_that_are_sent_anew_are_counted_where_they_are(builder: GraphBuilder, partitioner: Any) -> None:
    node = partition(builder)
    builder.map(node, "second", partitioner=partitioner, parallelism=3)
    assert receivers(builder, node) == 2


def test_neither_does_what_stands_behind_a_union(builder: GraphBuilder) -> None:
    node = partition(builder)
    builder.union_map(node, builder.source(), parallelism=3)
    assert receivers(builder, node) == 2


def test_without_a_receiver_its_own_parallelism_counts(builder: GraphBuilder) -> None:
    assert receivers(builder, partition(builder, parallelism=5)) == 5
