"""Process functions on keyed streams: state and timers of the current key."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.graph.operations import Process
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from funke.engine.types import Types
from funke.engine.types.functions import KeySelector
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

ALERTS = OutputTag("alerts")


def first(value: Any) -> Any:
    return value[0]


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class Reminding(KeyedProcessFunction):
    """Sets the timer that the record asks for: ('key', 'event' or 'processing' or 'delete', time)."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        service = ctx.timer_service()
        _, action, time = value
        if action == "event":
            service.register_event_time_timer(time)
        elif action == "processing":
            service.register_processing_time_timer(time)
        else:
            service.delete_event_time_timer(time)
            service.delete_processing_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        assert ctx.timestamp() == timestamp
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, ctx.timer_service().current_watermark()


def test_state_is_seen_in_order_of_arrival_key_by_key() -> None:
    check_stream_table(
        OperatorHarness(Process(Counting(), first)),
        """
        ('a', 1) @ 5  | ('a', 1) @ 5
        ('b', 1) @ 4  | ('b', 1) @ 4
        ('a', 2) @ 3  | ('a', 2) @ 3
        ('a', 3)      | ('a', 3)
        """,
    )


def test_state_is_seen_record_by_record_within_a_batch() -> None:
    harness = OperatorHarness(Process(Counting(), first))
    harness.process_batch([("a",), ("a",), ("b",), ("a",)])
    assert harness.outputs() == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]


@pytest.mark.parametrize("key", [[1, 2], {"a": 1}, ("t", [1]), None, float("nan"), 3.5])
def test_any_key_works(key: Any) -> None:
    harness = OperatorHarness(Process(Counting(), lambda value: value))
    harness.process_batch([key, key])
    counts = harness.outputs()
    assert [count for _, count in counts] == [1, 2]
    assert counts[0][0] is key or counts[0][0] == key


def test_a_key_selector_object_is_opened() -> None:
    class ByField(KeySelector):
        def open(self, runtime_context: Any) -> None:
            self.field = int(runtime_context.get_job_parameter("field", "0"))

        def get_key(self, value: Any) -> Any:
            return value[self.field]

    harness = OperatorHarness(Process(Counting(), ByField()), job_parameters={"field": "1"})
    harness.process(("x", "y"))
    assert harness.outputs() == [("y", 1)]


def test_fired_timers_are_counted() -> None:
    harness = OperatorHarness(Process(Reminding(), first))
    for number in range(3):
        harness.process((f"key {number}", "event", 10 * number))
    harness.watermark(10)
    assert harness.operator.metrics()["numFiredTimers"] == 2


def test_event_time_timers_fire_before_the_watermark_moves_on() -> None:
    check_stream_table(
        OperatorHarness(Process(Reminding(), first)),
        """
        ('a', 'event', 10) @ 1  |
        ('b', 'event', 5) @ 1   |
        ('a', 'event', 10) @ 1  |
        ('a', 'event', 20) @ 1  |
        watermark 4             | watermark 4
        watermark 10            | ('b', 'EVENT_TIME', 5, 10) @ 5; ('a', 'EVENT_TIME', 10, 10) @ 10; watermark 10
        watermark 19            | watermark 19
        end                     | ('a', 'EVENT_TIME', 20, MAX) @ 20; watermark max
        """,
        {"MAX": 2**63 - 1},
    )


def test_a_timer_in_the_past_fires_with_the_next_watermark() -> None:
    check_stream_table(
        OperatorHarness(Process(Reminding(), first)),
        """
        watermark 100         | watermark 100
        ('a', 'event', 5)     |
        watermark 101         | ('a', 'EVENT_TIME', 5, 101) @ 5; watermark 101
        """,
    )


def test_a_deleted_timer_does_not_fire() -> None:
    check_stream_table(
        OperatorHarness(Process(Reminding(), first)),
        """
        ('a', 'event', 5)        |
        ('b', 'event', 5)        |
        ('a', 'processing', 7)   |
        ('a', 'delete', 5)       |
        ('a', 'delete', 7)       |
        time 100                 |
        end                      | ('b', 'EVENT_TIME', 5, MAX) @ 5; watermark max
        """,
        {"MAX": 2**63 - 1},
    )


def test_processing_time_timers_fire_by_the_clock_in_order() -> None:
    harness = OperatorHarness(Process(Reminding(), first))
    check_stream_table(
        harness,
        """
        ('a', 'processing', 50)  |
        ('b', 'processing', 20)  |
        ('b', 'processing', 20)  |
        time 10                  |
        time 20                  | ('b', 'PROCESSING_TIME', 20, MIN) @ 20
        time 90                  | ('a', 'PROCESSING_TIME', 50, MIN) @ 50
        """,
        {"MIN": MIN_WATERMARK},
    )
    assert harness.operator.next_wakeup_ms() is None


def test_at_the_end_of_input_only_timers_that_are_due_fire() -> None:
    harness = OperatorHarness(Process(Reminding(), first))
    harness.process_batch([("a", "processing", 50), ("b", "processing", 20)])
    harness.clock.set(30)
    harness.end_input()
    assert harness.outputs() == [("b", "PROCESSING_TIME", 20, 2**63 - 1)]


def test_the_operator_shows_when_it_wants_to_be_woken() -> None:
    harness = OperatorHarness(Process(Reminding(), first))
    harness.process_batch([("a", "processing", 50), ("b", "processing", 20), ("c", "event", 5)])
    assert harness.operator.next_wakeup_ms() == 20


class Ticking(KeyedProcessFunction):
    """A timer that sets itself again."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if timestamp < 40:
            ctx.timer_service().register_event_time_timer(timestamp + 10)
        return [timestamp]


def test_timers_set_by_timers_fire_with_the_same_watermark_if_they_are_due() -> None:
    check_stream_table(
        OperatorHarness(Process(Ticking(), first)),
        """
        'a' @ 0       |
        watermark 25  | 10 @ 10; 20 @ 20; watermark 25
        end           | 30 @ 30; 40 @ 40; watermark max
        """,
    )


def test_late_records_are_not_dropped() -> None:
    check_stream_table(
        OperatorHarness(Process(Counting(), first)),
        """
        watermark 100  | watermark 100
        'a' @ 5        | ('a', 1) @ 5
        """,
    )


class Alerting(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(9)
        yield ALERTS, ("element", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ALERTS, ("timer", ctx.get_current_key())
        yield "main"


def test_side_outputs_from_elements_and_timers() -> None:
    check_stream_table(
        OperatorHarness(Process(Alerting(), first), side_outputs=(ALERTS,)),
        """
        'ab' @ 1      | [alerts] ('element', 'ab') @ 1
        watermark 9   | 'main' @ 9; watermark 9; [alerts] ('timer', 'a') @ 9
        """,
    )


class Collecting(KeyedProcessFunction):
    """Yields the list it keeps in a value state."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        seen = self.seen.value() or []
        seen.append(value[1])
        self.seen.update(seen)
        yield value[0], seen


def test_state_that_was_sent_does_not_change_any_more() -> None:
    harness = OperatorHarness(Process(Collecting(), first))
    harness.process_batch([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
    assert harness.outputs() == [("a", [1]), ("b", [2]), ("a", [1, 3]), ("a", [1, 3, 4])]


class Buffering(KeyedProcessFunction):
    """Sorts the values of a key by time: what a timer finds in list state."""

    def open(self, runtime_context: Any) -> None:
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.values.add(value[1])
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), sorted(self.values)
        self.values.clear()


def test_timers_see_the_state_of_their_key() -> None:
    harness = OperatorHarness(Process(Buffering(), first))
    harness.process_batch([("a", 3), ("b", 1), ("a", 2)], [3, 1, 2])
    harness.watermark(100)
    assert harness.outputs() == [("a", [2, 3]), ("b", [1])]
    harness.process(("a", 9), 101)
    harness.end_input()
    assert harness.outputs() == [("a", [9])]


def test_state_and_timers_survive_a_restart() -> None:
    harness = OperatorHarness(Process(Buffering(), first))
    harness.process_batch([("a", 3), ("b", 1)], [3, 1])
    again = OperatorHarness(Process(Buffering(), first), restored=[harness.snapshot()])
    again.process(("a", 2), 4)
    again.watermark(100)
    assert sorted(again.outputs()) == [("a", [2, 3]), ("b", [1])]


def test_processing_time_timers_survive_a_restart() -> None:
    harness = OperatorHarness(Process(Reminding(), first))
    harness.process(("a", "processing", 50))
    again = OperatorHarness(Process(Reminding(), first), restored=[harness.snapshot()])
    again.set_processing_time(50)
    assert again.outputs() == [("a", "PROCESSING_TIME", 50, MIN_WATERMARK)]


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_restart_may_change_the_parallelism(parallelism: int) -> None:
    keys = [f"key-{number}" for number in range(40)]
    harness = OperatorHarness(Process(Buffering(), first))
    harness.process_batch([(key, 1) for key in keys], [1] * 40)
    snapshot = harness.snapshot()
    results = []
    for subtask in range(parallelism):
        part = OperatorHarness(
            Process(Buffering(), first), parallelism=parallelism, subtask=subtask, restored=[snapshot]
        )
        part.end_input()
        results += part.outputs()
    assert sorted(results) == sorted((key, [1]) for key in keys)


@pytest.mark.parametrize("has_timestamps", [True, False])
def test_the_fast_loops_give_the_same_results_as_the_careful_one(has_timestamps: bool) -> None:
    class Echo(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            if value % 7:
                yield ctx.get_current_key(), value, ctx.timestamp()
                yield from [value] * (value % 2)

    many = list(range(ResultGuard.TRIAL * 2))
    harness = OperatorHarness(Process(Echo(), lambda value: value % 10))
    harness.process_batch(many, many if has_timestamps else None)
    careful = harness.elements()
    assert not harness.operator.guard.is_careful  # type: ignore[attr-defined]
    harness.process_batch(many, many if has_timestamps else None)
    assert harness.elements() == careful
    assert len(careful) == sum(1 + value % 2 for value in many if value % 7)
