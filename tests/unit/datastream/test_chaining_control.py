"""How a program controls chaining: the snippets of Flink's documentation."""

from __future__ import annotations

import pytest

from funke.common import Types
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.data_stream import DataStream
from funke.engine.planner.chaining import to_job_graph


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


@pytest.fixture
def stream(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3], Types.INT()).name("some")


def chains(env: StreamExecutionEnvironment) -> list[str]:
    return [vertex.name for vertex in to_job_graph(env._pending_graph(None)).vertices]


def test_by_default_everything_is_one_chain(env: StreamExecutionEnvironment, stream: DataStream) -> None:
    stream.filter(bool).map(str).print()
    assert chains(env) == ["Source: some -> Filter -> Map -> Sink: Print to Std. Out"]


def test_disable_operator_chaining(env: StreamExecutionEnvironment, stream: DataStream) -> None:
    env.disable_operator_chaining()
    stream.filter(bool).map(str)
    assert chains(env) == ["Source: some", "Filter", "Map"]


def test_start_new_chain_begins_a_chain_with_the_operator_before_it(
    env: StreamExecutionEnvironment, stream: DataStream
) -> None:
    stream.filter(bool).map(str).name("first").start_new_chain().map(str).name("second")
    assert chains(env) == ["Source: some -> Filter", "first -> second"]


def test_disable_chaining_isolates_one_operator(env: StreamExecutionEnvironment, stream: DataStream) -> None:
    stream.filter(bool).map(str).disable_chaining().map(str).name("after")
    assert chains(env) == ["Source: some -> Filter", "Map", "after"]


def test_a_slot_sharing_group_separates_and_is_inherited(env: StreamExecutionEnvironment, stream: DataStream) -> None:
    stream.map(str).slot_sharing_group("own").map(str).name("after")
    assert chains(env) == ["Source: some", "Map -> after"]
