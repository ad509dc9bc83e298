"""The execution plan as JSON, in the form Flink gives it."""

from __future__ import annotations

import json
from typing import Any

from funke.engine.graph.partitioners import Broadcast
from funke.engine.graph.plan_json import to_plan_json
from tests.unit.graph.sample_graphs import GraphBuilder


def plan_nodes(builder: GraphBuilder) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(to_plan_json(builder.graph))["nodes"]
    return nodes


def test_source_operator_and_sink() -> None:
    builder = GraphBuilder(2)
    source = builder.source("Collection Source", parallelism=1)
    builder.sink(builder.map(source), "Print to Std. Out")
    assert plan_nodes(builder) == [
        {
            "id": 1,
            "type": "Source: Collection Source",
            "pact": "Data Source",
            "contents": "Source: Collection Source",
            "parallelism": 1,
        },
        {
            "id": 2,
            "type": "Map",
            "pact": "Operator",
            "contents": "Map",
            "parallelism": 2,
            "predecessors": [{"id": 1, "ship_strategy": "REBALANCE", "side": "second"}],
        },
        {
            "id": 3,
            "type": "Sink: Print to Std. Out",
            "pact": "Data Sink",
            "contents": "Sink: Print to Std. Out",
            "parallelism": 2,
            "predecessors": [{"id": 2, "ship_strategy": "FORWARD", "side": "second"}],
        },
    ]


def test_sinks_come_last() -> None:
    builder = GraphBuilder(2)
    source = builder.source()
    builder.sink(source)
    builder.map(source)
    assert [node["id"] for node in plan_nodes(builder)] == [1, 3, 2]


def test_a_description_stands_in_the_contents() -> None:
    builder = GraphBuilder(2)
    builder.map(builder.source(), description="turns cents into euros")
    assert plan_nodes(builder)[1]["contents"] == "turns cents into euros"


def test_all_predecessors_are_named_with_their_strategy() -> None:
    builder = GraphBuilder(2)
    left, right = builder.source("left"), builder.source("right")
    builder.union_map(left, right, partitioner=Broadcast())
    assert plan_nodes(builder)[2]["predecessors"] == [
        {"id": 1, "ship_strategy": "BROADCAST", "side": "second"},
        {"id": 2, "ship_strategy": "BROADCAST", "side": "second"},
    ]
