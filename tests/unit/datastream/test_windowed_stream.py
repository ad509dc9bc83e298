"""What a program says about windows: the node it adds, and what is rejected with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from funke.common import Duration, Time, Types
from funke.datastream import DataStream, StreamExecutionEnvironment, TimeCharacteristic
from funke.datastream.functions import AllWindowFunction, ProcessWindowFunction, WindowFunction
from funke.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.errors import ConfigurationError, GraphError
from funke.engine.graph.operations import Window
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import (
    Describe,
    Elements,
    SameAsDefault,
    SumAndCount,
    add,
    ms,
    window,
)

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
FIVE = TumblingEventTimeWindows.of(Time.seconds(5))


@pytest.fixture
def pairs() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([("a", 1), ("b", 2)], PAIR)


class DescribeAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield window.start, len(list(inputs))


def operation_of(stream: DataStream) -> Window:
    assert stream._node is not None
    operation = stream._node.operation
    assert isinstance(operation, Window)
    return operation


@pytest.mark.parametrize("lateness", [7000, Duration.of_seconds(7), Time.seconds(7)])
def test_lateness_is_a_duration_or_milliseconds(pairs: DataStream, lateness: Any) -> None:
    windows = pairs.key_by(lambda pair: pair[0]).window(FIVE).allowed_lateness(lateness)
    assert operation_of(windows.reduce(add)).allowed_lateness_ms == 7000


def test_everything_that_was_set_is_in_the_node(pairs: DataStream) -> None:
    late, evictor, trigger = OutputTag("late", PAIR), CountEvictor.of(3), CountTrigger.of(5)
    windows = pairs.key_by(lambda pair: pair[0]).window(FIVE).trigger(trigger).evictor(evictor)
    stream = windows.allowed_lateness(7).side_output_late_data(late).reduce(add, Elements(), Types.STRING())
    operation = operation_of(stream)
    assert (operation.assigner, operation.trigger, operation.evictor) == (FIVE, trigger, evictor)
    assert (operation.allowed_lateness_ms, operation.late_tag, operation.reduce) == (7, late, add)
    assert stream.get_type() == Types.STRING()
    assert stream.get_name() == "TumblingEventTimeWindows"
    assert stream._node is not None
    assert stream._node.description == ("Window(TumblingEventTimeWindows(5000, 0), CountTrigger, function, Elements)")


def test_the_default_trigger_is_the_assigners(pairs: DataStream) -> None:
    keyed = pairs.key_by(lambda pair: pair[0])
    assert isinstance(operation_of(keyed.window(FIVE).apply(Describe())).trigger, EventTimeTrigger)
    assert isinstance(operation_of(keyed.count_window(5).reduce(add)).trigger, CountTrigger)
    assert keyed.window(FIVE).aggregate(SumAndCount(), output_type=PAIR).get_type() == PAIR


def test_windows_over_all_elements_have_one_subtask_and_one_key(pairs: DataStream) -> None:
    for stream in (
        pairs.window_all(FIVE).apply(DescribeAll()),
        pairs.key_by(lambda pair: pair[0]).window_all(FIVE).reduce(add),
    ):
        operation = operation_of(stream)
        assert stream._node is not None
        assert stream._node.parallelism == 1
        assert {operation.key_selector(value) for value in (("a", 1), ("b", 2))} == {0}


def test_sum_min_and_max_of_a_field(pairs: DataStream) -> None:
    windows = pairs.key_by(lambda pair: pair[0]).window(FIVE)
    for stream, expected in ((windows.sum(1), ("a", 4)), (windows.min(1), ("a", 1)), (windows.max_by(1), ("a", 3))):
        harness = OperatorHarness(operation_of(stream))
        harness.process_batch([("a", 3), ("a", 1)], [1, 2])
        harness.end_input()
        assert harness.outputs() == [expected]


def test_time_window_follows_the_time_of_the_program(pairs: DataStream) -> None:
    env, keyed = pairs.get_execution_environment(), pairs.key_by(lambda pair: pair[0])
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    assert repr(operation_of(keyed.time_window(ms(5)).sum(1)).assigner) == "TumblingEventTimeWindows(5, 0)"
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    sliding = operation_of(keyed.time_window(ms(9), Duration.of_millis(3)).sum(1)).assigner
    assert repr(sliding) == "SlidingProcessingTimeWindows(9, 3, 0)"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: TumblingEventTimeWindows.of(ms(-5)), "size of -5 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(0)), "size of 0 ms"),
        (lambda: TumblingProcessingTimeWindows.of(ms(5), ms(5)), r"abs\(offset\) < size"),
        (lambda: TumblingEventTimeWindows.of(ms(5), ms(-7)), r"abs\(offset\) < size"),
        (lambda: SlidingEventTimeWindows.of(ms(-10), ms(5)), "size of -10 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(10), ms(0)), "slide of 0 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(10), ms(5), ms(10)), "an offset of 10 ms"),
        (lambda: EventTimeSessionWindows.with_gap(ms(0)), "gap greater than 0"),
        (lambda: CountTrigger.of(0), "count of at least 1"),
        (lambda: ContinuousEventTimeTrigger.of(ms(0)), "interval greater than 0"),
    ],
)
def test_sizes_that_make_no_sense_are_rejected(make: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        make()


def test_arguments_that_make_no_sense_are_rejected(pairs: DataStream) -> None:
    keyed = pairs.key_by(lambda pair: pair[0])
    with pytest.raises(ConfigurationError, match="size of at least 1 element, got 0"):
        keyed.count_window(0)
    with pytest.raises(ConfigurationError, match="slide of at least 1 element, got -1"):
        keyed.count_window(3, -1)
    with pytest.raises(ConfigurationError, match="at least 0, got -1"):
        keyed.window(FIVE).allowed_lateness(-1)
    with pytest.raises(TypeError, match="DeltaTrigger cannot merge"):
        keyed.window(EventTimeSessionWindows.with_gap(ms(5))).trigger(DeltaTrigger.of(1, lambda old, new: 0))
    with pytest.raises(TypeError, match="needs a WindowAssigner, got int"):
        keyed.window(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Time or Duration is needed, such as"):
        TumblingEventTimeWindows.of(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs an AggregateFunction, got function"):
        keyed.window(FIVE).aggregate(add)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="should be a WindowFunction or ProcessWindowFunction, got DescribeAll"):
        keyed.window(FIVE).reduce(add, DescribeAll())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"process\(\) needs a function of the class ProcessWindowFunction"):
        keyed.window(FIVE).process(Describe())  # type: ignore[arg-type]


def test_a_method_process_is_enough(pairs: DataStream) -> None:
    class Count(WindowFunction[Any, Any, Any, Any]):
        def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
            return []

        def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            yield len(list(elements))

    counted = pairs.window_all(FIVE).process(Count())  # type: ignore[arg-type]
    function: Any = operation_of(counted).window_function
    assert list(function.process(None, [1, 2])) == [2]
    with pytest.raises(TypeError, match="needs a function of the class AllWindowFunction"):
        pairs.window_all(FIVE).apply(Count())  # type: ignore[arg-type]


def test_functions_of_keyed_windows_are_rejected_after_window_all(pairs: DataStream) -> None:
    class Count(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            yield len(list(elements))

    with pytest.raises(TypeError) as caught:
        pairs.window_all(FIVE).process(Count())  # type: ignore[arg-type]
    expected = "window_all().process() needs a function of the class ProcessAllWindowFunction"
    assert str(caught.value).startswith(f"{expected}, got Count, a ProcessWindowFunction\n  in your job: ")
    with pytest.raises(
        TypeError, match=r"window_all\(\)\.apply\(\) .* AllWindowFunction, got Describe, a WindowFunction"
    ):
        pairs.window_all(FIVE).apply(Describe())  # type: ignore[arg-type]


@pytest.mark.parametrize("assigner", [FIVE, EventTimeSessionWindows.with_gap(ms(5))], ids=["tumbling", "session"])
def test_event_time_without_timestamps_says_what_to_do(assigner: Any) -> None:
    harness = OperatorHarness(window(assigner, reduce=add))
    with pytest.raises(GraphError, match=r"no timestamp marker.*call assign_timestamps_and_watermarks\(\)"):
        harness.process(("a", 1))


def test_a_key_selector_that_raises_is_not_hidden() -> None:
    def no_key(value: Any) -> Any:
        raise KeyError(f"no key in {value}")

    harness = OperatorHarness(window(FIVE, reduce=add, key_selector=no_key))
    with pytest.raises(KeyError, match="no key in"):
        harness.process(("a", 1), 1)


def test_a_programs_own_trigger_may_merge_without_saying_so_where_pyflink_does_not_ask(pairs: DataStream) -> None:
    sessions = EventTimeSessionWindows.with_gap(ms(5))
    trigger = SameAsDefault()
    trigger.can_merge = lambda: False  # type: ignore[method-assign]
    pairs.key_by(lambda pair: pair[0]).window(sessions).trigger(trigger).reduce(add)
    with pytest.raises(TypeError, match="SameAsDefault cannot merge"):
        pairs.window_all(sessions).trigger(trigger)
    harness = OperatorHarness(window(sessions, trigger, reduce=add))
    harness.process_batch([("a", 1), ("a", 2)], [1, 3])
    harness.end_input()
    assert harness.outputs() == [("a", 3)]


def test_none_is_a_key_like_any_other() -> None:
    """So it is in PyFlink, also when a key type is declared."""
    harness = OperatorHarness(window(FIVE, reduce=add))
    harness.process_batch([(None, 1), ("a", 2), (None, 3)], [1, 2, 3])
    harness.end_input()
    assert harness.outputs() == [(None, 4), ("a", 2)]


@pytest.mark.parametrize("trigger", [None, SameAsDefault()], ids=["fast", "general"])
def test_event_time_without_watermarks_gets_a_warning(trigger: Any, caplog: pytest.LogCaptureFixture) -> None:
    harness = OperatorHarness(window(FIVE, trigger, reduce=add))
    for second in range(0, 30, 5):
        harness.set_processing_time(second * 1000)
        harness.process(("a", 1), 1)
        harness.end_epoch()
    (record,) = caplog.records
    assert "the windows of operator 'operator' cannot fire: 3 records have come in the last 10 s" in record.message


def test_no_warning_once_there_are_watermarks_or_in_batch_mode(caplog: pytest.LogCaptureFixture) -> None:
    for is_batch in (False, True):
        harness = OperatorHarness(window(FIVE, reduce=add), is_batch=is_batch)
        for second in (0, 5, 20):
            harness.process(("a", 1), 1)
            harness.watermark(second)
            harness.end_epoch()
            harness.set_processing_time(second * 1000)
    assert not caplog.records
