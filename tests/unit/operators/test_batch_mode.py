"""Runtime mode BATCH: key by key, in order of time, timers at the end of each key, one result of a reduce."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import BroadcastProcess, CoProcess, Map, Process, Reduce
from funke.engine.operators.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from funke.engine.operators.functions.process_functions import KeyedCoProcessFunction, KeyedProcessFunction
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from funke.engine.types import Types
from funke.engine.types.functions import MapFunction
from tests.harness.operator_harness import OperatorHarness, Record, Watermark

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def first(value: Any) -> Any:
    return value[0]


class Telling(KeyedProcessFunction):
    """Sets timers by both clocks, and counts."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        ctx.timer_service().register_processing_time_timer(99_000)
        yield value, count, ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), ctx.time_domain().name, ctx.timer_service().current_watermark(), self.count.value()


def test_keys_come_one_after_the_other_in_order_of_time_with_their_timers() -> None:
    harness = OperatorHarness(Process(Telling(), first), is_batch=True)
    harness.process_batch([("b", 1), ("a", 5)], [1, 5])
    harness.watermark(50)
    harness.process_batch([("a", 2), ("b", 0)], [2, 0])
    harness.set_processing_time(100_000)
    assert harness.elements() == []
    harness.end_input()
    assert harness.elements() == [
        Record((("a", 2), 1, MIN_WATERMARK), 2),
        Record((("a", 5), 2, MIN_WATERMARK), 5),
        Record(("a", "EVENT_TIME", MAX_WATERMARK, 2), 12),
        Record(("a", "EVENT_TIME", MAX_WATERMARK, 2), 15),
        Record(("a", "PROCESSING_TIME", MAX_WATERMARK, 2), 99_000),
        Record((("b", 0), 1, MIN_WATERMARK), 0),
        Record((("b", 1), 2, MIN_WATERMARK), 1),
        Record(("b", "EVENT_TIME", MAX_WATERMARK, 2), 10),
        Record(("b", "EVENT_TIME", MAX_WATERMARK, 2), 11),
        Record(("b", "PROCESSING_TIME", MAX_WATERMARK, 2), 99_000),
        Watermark(MAX_WATERMARK),
    ]


def test_the_order_of_keys_does_not_depend_on_the_order_of_arrival() -> None:
    def outputs(keys: list[Any]) -> list[Any]:
        harness = OperatorHarness(Reduce(lambda left, right: left, lambda value: value), is_batch=True)
        harness.process_batch(keys)
        harness.end_input()
        return harness.outputs()

    assert outputs(["b", "a", "c", "a"]) == ["a", "b", "c"]
    mixed: list[Any] = ["a", 1, None, (1, 2), [3]]
    assert outputs(mixed) == outputs(mixed[::-1])


def test_reduce_yields_once_per_key_with_the_time_of_the_end() -> None:
    harness = OperatorHarness(Reduce(lambda left, right: (left[0], left[1] + right[1]), first), is_batch=True)
    harness.process_batch([("a", "2"), ("b", "x"), ("a", "1")], [2, 3, 1])
    assert harness.elements() == []
    harness.end_input()
    assert harness.elements() == [
        Record(("a", "12"), MAX_WATERMARK),
        Record(("b", "x"), MAX_WATERMARK),
        Watermark(MAX_WATERMARK),
    ]


def test_a_keyed_map_with_state_runs_key_by_key() -> None:
    class Numbering(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def map(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            return value, self.count.value()

    harness = OperatorHarness(Map(Numbering(), first), is_batch=True)
    harness.process_batch(["b1", "a1", "b2"])
    harness.end_input()
    assert harness.timed_outputs() == [(("a1", 1), None), (("b1", 1), None), (("b2", 2), None)]


def test_functions_without_keys_run_as_in_streaming() -> None:
    harness = OperatorHarness(Map(lambda value: value + 1), is_batch=True)
    harness.process(1, 5)
    assert harness.timed_outputs() == [(2, 5)]


class Joined(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield "one", value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield "two", value


def test_two_keyed_inputs_are_merged_by_key_and_time() -> None:
    harness = OperatorHarness(CoProcess(Joined(), (first, first)), is_batch=True)
    harness.process_batch(["a1", "a4", "b2"], [1, 4, 2])
    harness.process_batch(["b0", "a3", "a1"], [0, 3, 1], input_index=1)
    harness.end_input()
    assert harness.outputs() == [
        ("one", "a1"),
        ("two", "a1"),
        ("two", "a3"),
        ("one", "a4"),
        ("two", "b0"),
        ("one", "b2"),
    ]


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.get_broadcast_state(RULES).get("limit")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("limit", value)


class KeyedRules(KeyedBroadcastProcessFunction):
    process_element = Rules.process_element  # type: ignore[assignment]
    process_broadcast_element = Rules.process_broadcast_element  # type: ignore[assignment]


def test_the_broadcast_side_comes_first() -> None:
    for operation in (BroadcastProcess(Rules(), (RULES,)), BroadcastProcess(KeyedRules(), (RULES,), first)):
        harness = OperatorHarness(operation, is_batch=True)
        harness.process_batch(["b", "a"], [1, 2])
        harness.process(7, 3, input_index=1)
        harness.end_input()
        assert sorted(harness.outputs()) == [("a", 7), ("b", 7)]
