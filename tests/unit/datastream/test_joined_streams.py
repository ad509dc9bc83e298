"""The methods that lead to a join: what they put into the graph, and what they reject."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Duration, Types
from funke.common.time import Time
from funke.datastream import OutputTag, ProcessJoinFunction, StreamExecutionEnvironment
from funke.datastream.data_stream import DataStream, KeyedStream
from funke.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    NeverTrigger,
    TumblingEventTimeWindows,
)
from funke.engine.errors import ConfigurationError, TypeMismatchError, UnsupportedFeatureError
from funke.engine.graph import partitioners
from funke.engine.graph.operations import IntervalJoin, WindowJoin
from funke.engine.operators.joins.window_functions import CoGroupWindow, JoinWindow
from funke.engine.operators.windowing.evictor import CountEvictor

LATE = OutputTag("late")
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))
SECOND = Duration.of_seconds(1)


def first(value: Any) -> Any:
    return value[0]


def second(value: Any) -> Any:
    return value[1]


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right


@pytest.fixture
def left() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))


@pytest.fixture
def right(left: DataStream) -> DataStream:
    return left.get_execution_environment().from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))


@pytest.fixture
def keyed(left: DataStream, right: DataStream) -> tuple[KeyedStream, KeyedStream]:
    return left.key_by(first), right.key_by(second)


def operation_of(stream: DataStream) -> Any:
    assert stream._node is not None
    return stream._node.operation


def test_an_interval_join(keyed: Any) -> None:
    tag = OutputTag("other")
    stream = (
        keyed[0]
        .interval_join(keyed[1])
        .in_event_time()
        .between(Duration.of_seconds(-2), SECOND)
        .side_output_left_late_data(LATE)
        .side_output_right_late_data(tag)
        .process(Pair(), Types.STRING())
    )
    operation = operation_of(stream)
    assert isinstance(operation, IntervalJoin)
    assert (operation.lower_ms, operation.upper_ms) == (-2000, 1000)
    assert operation.key_selectors == (first, second)
    assert (operation.left_late_tag, operation.right_late_tag) == (LATE, tag)
    assert stream.get_name() == "Interval Join"
    assert stream.get_type() == Types.STRING()


def test_exclusive_bounds_and_bounds_as_time(keyed: Any) -> None:
    joined = keyed[0].interval_join(keyed[1]).between(Time.milliseconds(-5), Time.milliseconds(5))
    operation = operation_of(joined.lower_bound_exclusive().upper_bound_exclusive().process(Pair()))
    assert (operation.lower_ms, operation.upper_ms) == (-4, 4)


def test_rejections_of_an_interval_join(left: DataStream, keyed: Any) -> None:
    join = keyed[0].interval_join(keyed[1])
    with pytest.raises(
        ConfigurationError, match=r"lower_bound <= upper_bound, got 1000 ms and 0 ms(?s:.*)test_joined_"
    ):
        join.between(SECOND, Duration.of_seconds(0))
    with pytest.raises(TypeError, match="needs a Duration as upper_bound, got int"):
        join.between(SECOND, 5)
    with pytest.raises(TypeError, match="needs a ProcessJoinFunction, got function"):
        join.between(SECOND, SECOND).process(lambda left, right, ctx: [])
    with pytest.raises(TypeError, match="needs an OutputTag, got str"):
        join.between(SECOND, SECOND).side_output_left_late_data("late")
    with pytest.raises(TypeError, match=r"needs a keyed stream, got DataStream; call key_by\(\)"):
        keyed[0].interval_join(left)
    with pytest.raises(UnsupportedFeatureError, match="interval join in processing time"):
        join.in_processing_time().between(SECOND, SECOND)
    with pytest.raises(TypeMismatchError, match="keys of one type"):
        left.key_by(first, Types.STRING()).interval_join(left.key_by(second, Types.INT()))


def test_a_window_join(left: DataStream, right: DataStream) -> None:
    stream = left.join(right).where(first).equal_to(second).window(WINDOWS).apply(max, Types.STRING())
    operation = operation_of(stream)
    assert isinstance(operation, WindowJoin)
    assert (operation.key_selector, operation.second_key_selector) == (first, second)
    assert operation.assigner is WINDOWS
    assert isinstance(operation.trigger, EventTimeTrigger)
    assert isinstance(operation.window_function, JoinWindow)
    assert (operation.allowed_lateness_ms, operation.evictor) == (0, None)
    assert (stream.get_name(), stream.get_type()) == ("Window Join", Types.STRING())


def test_a_co_group_with_all_settings(left: DataStream, right: DataStream) -> None:
    windows = left.co_group(right).where(first).equal_to(second).window(WINDOWS)
    trigger, evictor = CountTrigger.of(2), CountEvictor.of(1)
    stream = windows.trigger(trigger).evictor(evictor).allowed_lateness(SECOND).apply(lambda a, b: [a, b])
    operation = operation_of(stream)
    assert (operation.trigger, operation.evictor, operation.allowed_lateness_ms) == (trigger, evictor, 1000)
    assert isinstance(operation.window_function, CoGroupWindow)
    assert stream.get_name() == "Window CoGroup"
    assert operation_of(windows.allowed_lateness(7).apply(lambda a, b: [])).allowed_lateness_ms == 7


@pytest.mark.parametrize("types", [(Types.LONG(), None), (None, Types.LONG()), (Types.LONG(), Types.LONG())])
def test_one_key_type_is_enough(left: DataStream, right: DataStream, types: Any) -> None:
    join = left.join(right).where(second, types[0]).equal_to(first, types[1])
    operation = operation_of(join.window(WINDOWS).apply(max))
    assert operation.key_selector(("a", 1)) == operation.second_key_selector((1, "a")) == 1
    with pytest.raises(TypeMismatchError, match=r"LONG|Long"):
        left.join(right).where(second, Types.LONG()).equal_to(first, Types.STRING())


def test_both_streams_are_partitioned_by_their_keys(left: DataStream, right: DataStream) -> None:
    stream = left.key_by(second).join(right).where(first).equal_to(second).window(WINDOWS).apply(max)
    assert stream._node is not None
    edges = stream._node.inputs
    assert [edge.input_index for edge in edges] == [0, 1]
    assert [edge.partitioner for edge in edges] == [partitioners.Hash(first), partitioners.Hash(second)]


def test_steps_that_are_missing_are_named(left: DataStream, right: DataStream) -> None:
    for start in (left.join(right), left.co_group(right)):
        with pytest.raises(ConfigurationError, match=r"needs where\(key_selector\) before window\(\)"):
            start.window(WINDOWS)  # type: ignore[attr-defined]
        with pytest.raises(ConfigurationError, match=r"needs equal_to\(key_selector\) before window\(\)"):
            start.where(first).window(WINDOWS)  # type: ignore[attr-defined]
        with pytest.raises(ConfigurationError, match=r"needs window\(assigner\) before apply\(\)"):
            start.where(first).equal_to(second).apply(max)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match="no attribute 'with_parallelism'"):
            start.with_parallelism  # type: ignore[attr-defined]  # noqa: B018


def test_rejections_of_window_joins(left: DataStream, right: DataStream) -> None:
    with pytest.raises(TypeError, match=r"join\(\) needs a DataStream, got list"):
        left.join([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"co_group\(\) needs a DataStream, got NoneType"):
        left.co_group(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a KeySelector or a callable, got int"):
        left.join(right).where(0).equal_to(first)  # type: ignore[arg-type]
    keys = left.join(right).where(first).equal_to(second)
    with pytest.raises(TypeError, match="needs a WindowAssigner, got int"):
        keys.window(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a JoinFunction, a FlatJoinFunction or a callable, got str"):
        keys.window(WINDOWS).apply("pair")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a CoGroupFunction or a callable, got str"):
        left.co_group(right).where(first).equal_to(second).window(WINDOWS).apply("pair")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="at least 0"):
        keys.window(WINDOWS).allowed_lateness(-1)
    with pytest.raises(TypeError, match="cannot merge"):
        keys.window(EventTimeSessionWindows.with_gap(Time.seconds(1))).trigger(NeverTrigger())
