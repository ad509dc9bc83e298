"""The execution plan as JSON, in the form Flink gives it."""

from __future__ import annotations

import json
from typing import Any

from funke.engine.graph.partitioners import Broadcast, Hash
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


def key(value: Any) -> Any:
    return value[0]


def nodes_of(builder: GraphBuilder) -> list[tuple[str, int, list[tuple[str, str]]]]:
    """Each operator's name and parallelism, and from where and how records come to it."""
    nodes = plan_nodes(builder)
    names = {node["id"]: node["type"] for node in nodes}
    return [
        (
            node["type"],
            node["parallelism"],
            [(names[edge["id"]], edge["ship_strategy"]) for edge in node.get("predecessors", ())],
        )
        for node in nodes
    ]


KEY = "_stream_key_by_map_operator"


def test_a_key_operator_stands_behind_a_source_with_its_parallelism() -> None:
    builder = GraphBuilder(2)
    builder.map(builder.source(parallelism=1), "reduce", partitioner=Hash(key))
    assert nodes_of(builder)[1:] == [(KEY, 1, [("Source: numbers", "FORWARD")]), ("reduce", 2, [(KEY, "HASH")])]


def test_a_key_operator_is_chained_to_the_operator_that_sends_to_it_only() -> None:
    builder = GraphBuilder(2)
    parse = builder.map(builder.source(), "parse", description="reads numbers")
    builder.map(parse, "count", partitioner=Hash(key))
    builder.map(parse, "sum", partitioner=Hash(key))
    assert nodes_of(builder)[1:] == [
        (f"parse, {KEY}", 2, [("Source: numbers", "FORWARD")]),
        ("count", 2, [(f"parse, {KEY}", "HASH")]),
        ("sum", 2, [(f"parse, {KEY}", "HASH")]),
    ]
    assert plan_nodes(builder)[1]["contents"] == "reads numbers"


def test_a_key_operator_stands_alone_behind_an_operator_with_other_receivers() -> None:
    builder = GraphBuilder(2)
    parse = builder.map(builder.source(), "parse")
    builder.map(parse, "count", partitioner=Hash(key))
    builder.map(parse, "other")
    assert nodes_of(builder)[2:] == [
        (KEY, 2, [("parse", "FORWARD")]),
        ("count", 2, [(KEY, "HASH")]),
        ("other", 2, [("parse", "FORWARD")]),
    ]


def test_streams_that_were_united_share_a_key_operator() -> None:
    builder = GraphBuilder(2)
    left, right = builder.map(builder.source("a"), "left"), builder.map(builder.source("b"), "right")
    builder.union_map(left, right, partitioner=Hash(key))
    key_operator, united = nodes_of(builder)[-2:]
    assert key_operator == (KEY, 2, [("left", "FORWARD"), ("right", "FORWARD")])
    assert united[2] == [(KEY, "HASH")]


def test_keys_are_taken_off_before_a_sink() -> None:
    builder = GraphBuilder(2)
    builder.sink(builder.map(builder.source(), "parse"), "print", partitioner=Hash(key))
    values = "_keyed_stream_values_operator"
    assert nodes_of(builder)[2:] == [
        (values, 2, [(f"parse, {KEY}", "HASH")]),
        ("Sink: print", 2, [(values, "FORWARD")]),
    ]
