"""Triggers at work in the window operator: firing, purging, state, timers and merging."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from funke.datastream.state import ListStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from funke.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaFunction,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    PurgingTrigger,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.errors import StateError, TypeMismatchError
from funke.engine.types.information.type_catalog import Types
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table
from tests.unit.operators.windowing.window_operations import Describe, Elements, Numbers, SumAndCount, ms, window

TEN = TumblingEventTimeWindows.of(ms(10))


class Scripted(Trigger[Any, Any]):
    """Answers what the element says; sets a timer at every element and counts in state."""

    def __init__(self, timers: tuple[int, ...] = ()) -> None:
        self.timers = timers
        self.count = ReducingStateDescriptor("count", lambda left, right: left + right, Types.INT())
        self.log: list[Any] = []

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self.count).add(1)
        for time in self.timers:
            ctx.register_event_time_timer(time)
        return TriggerResult[element[1]] if isinstance(element[1], str) else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.log.append(("timer", time, ctx.get_partitioned_state(self.count).get(), ctx.get_current_watermark()))
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.count)
        self.log.append(("merge", window.start, window.end, ctx.get_partitioned_state(self.count).get()))

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.count).clear()
        self.log.append(("clear", window.start))


class All(Numbers):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield [number for _, number in inputs]


def test_fire_purge_and_both() -> None:
    check_stream_table(
        OperatorHarness(window(TEN, Scripted(), window_function=All())),
        """
        ('a', 'CONTINUE') @ 1         |
        ('a', 'FIRE') @ 2             | ['CONTINUE', 'FIRE'] @ 2
        ('a', 'FIRE_AND_PURGE') @ 3   | ['CONTINUE', 'FIRE', 'FIRE_AND_PURGE'] @ 3
        ('a', 'CONTINUE') @ 4         |
        ('a', 'PURGE') @ 5            |
        ('a', 'FIRE') @ 6             | ['FIRE'] @ 6
        end                           | watermark max
        """,
    )


@pytest.mark.parametrize("answer", ["FIRE", None])
def test_an_answer_that_is_no_result_fails(answer: Any) -> None:
    class Wrong(Scripted):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            return answer  # type: ignore[no-any-return]

    with pytest.raises(
        TypeMismatchError,
        match=rf"a window with Wrong needs a TriggerResult, got {answer!r}; write .*TriggerResult\.FIRE",
    ):
        OperatorHarness(window(TEN, Wrong(), window_function=All())).process(("a", 1), 1)


def test_a_trigger_has_state_and_timers_per_window_and_the_clean_up_timer_calls_it_too() -> None:
    trigger = Scripted(timers=(7,))
    harness = OperatorHarness(window(TEN, trigger, window_function=All(), allowed_lateness_ms=3))
    harness.process_batch([("a", 1), ("a", 2)], [1, 2])
    harness.watermark(7)
    harness.watermark(20)
    assert trigger.log == [("timer", 7, 2, 7), ("timer", 12, 2, 20), ("clear", 0)]
    assert not harness.operator.backend.snapshot()  # type: ignore[attr-defined]


def test_purging_keeps_the_trigger_state_and_the_window() -> None:
    purging = PurgingTrigger.of(EventTimeTrigger.create())
    check_stream_table(
        OperatorHarness(window(TEN, purging, window_function=Describe(), allowed_lateness_ms=10)),
        """
        ('a', 1) @ 1    |
        watermark 9     | ('a', 0, 10, [1]) @ 9; watermark 9
        ('a', 2) @ 2    | ('a', 0, 10, [2]) @ 2
        ('a', 3) @ 3    | ('a', 0, 10, [3]) @ 3
        end             | watermark max
        """,
    )


def test_continuous_event_time() -> None:
    """Fires at 4, at 8 and at the end of [0, 10), each time with all elements so far."""
    trigger = ContinuousEventTimeTrigger.of(ms(4))
    check_stream_table(
        OperatorHarness(window(TEN, trigger, window_function=Describe())),
        """
        ('a', 1) @ 1    |
        watermark 3     | watermark 3
        watermark 5     | ('a', 0, 10, [1]) @ 4; watermark 5
        ('a', 2) @ 6    |
        watermark 8     | ('a', 0, 10, [1, 2]) @ 8; watermark 8
        end             | ('a', 0, 10, [1, 2]) @ 9; watermark max
        """,
    )


def test_continuous_processing_time() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(ms(4))
    check_stream_table(
        OperatorHarness(window(TumblingProcessingTimeWindows.of(ms(10)), trigger, window_function=Describe())),
        """
        time 1          |
        ('a', 1)        |
        time 4          | ('a', 0, 10, [1]) @ 4
        ('a', 2)        |
        time 12         | ('a', 0, 10, [1, 2]) @ 8; ('a', 0, 10, [1, 2]) @ 9
        end             | watermark max
        """,
    )


class Distance(DeltaFunction[Any]):
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        return float(new_data_point[1] - old_data_point[1])


@pytest.mark.parametrize("delta", [Distance(), lambda old, new: new[1] - old[1]], ids=["object", "callable"])
def test_delta_fires_when_an_element_is_far_from_the_last_one_that_fired(delta: Any) -> None:
    check_stream_table(
        OperatorHarness(window(GlobalWindows.create(), DeltaTrigger.of(10, delta), window_function=Numbers())),
        """
        ('a', 0)        |
        ('a', 10)       |
        ('a', 11)       | ('a', [0, 10, 11])
        ('b', 50)       |
        ('a', 21)       |
        ('a', 22)       | ('a', [0, 10, 11, 21, 22])
        """,
    )


def test_never_and_a_purged_window_fire_nothing() -> None:
    check_stream_table(
        OperatorHarness(window(TEN, NeverTrigger(), window_function=Describe())),
        """
        ('a', 1) @ 1    |
        end             | watermark max
        """,
    )


def test_sessions_merge_state_and_timers_of_the_trigger() -> None:
    trigger = Scripted()
    harness = OperatorHarness(
        window(EventTimeSessionWindows.with_gap(ms(10)), trigger, window_function=Describe(), allowed_lateness_ms=1)
    )
    harness.process_batch([("a", 1), ("a", 2)], [0, 15])
    harness.process(("a", 3), 7)
    assert trigger.log == [("merge", 0, 25, 2), ("clear", 0), ("clear", 15)]
    harness.watermark(24)
    assert len(trigger.log) == 3, "the clean-up timers of the windows that were merged are gone"
    harness.watermark(25)
    assert trigger.log[3:] == [("timer", 25, 3, 25), ("clear", 0)]


def test_counts_add_up_when_sessions_merge() -> None:
    check_stream_table(
        OperatorHarness(
            window(EventTimeSessionWindows.with_gap(ms(10)), CountTrigger.of(3), window_function=Describe())
        ),
        """
        ('a', 1) @ 0    |
        ('a', 2) @ 15   |
        ('a', 3) @ 7    | ('a', 0, 25, [1, 2, 3]) @ 7
        end             | watermark max
        """,
    )


def test_purging_over_event_time_merges() -> None:
    purging = PurgingTrigger.of(EventTimeTrigger.create())
    check_stream_table(
        OperatorHarness(
            window(EventTimeSessionWindows.with_gap(ms(10)), purging, aggregate=SumAndCount(), allowed_lateness_ms=99)
        ),
        """
        ('a', 1) @ 0    |
        watermark 9     | (1, 1) @ 9; watermark 9
        ('a', 2) @ 8    |
        end             | (2, 1) @ 17; watermark max
        """,
    )


def test_merged_accumulators_are_one_element_for_the_function() -> None:
    check_stream_table(
        OperatorHarness(
            window(
                EventTimeSessionWindows.with_gap(ms(10)),
                PurgingTrigger.of(EventTimeTrigger()),
                aggregate=SumAndCount(),
                window_function=Elements(),
            )
        ),
        """
        ('a', 1) @ 0    |
        ('a', 2) @ 15   |
        ('a', 4) @ 7    |
        end             | ('a', 0, [(7, 3)]) @ 24; watermark max
        """,
    )


def test_windows_that_touch_are_one_session() -> None:
    check_stream_table(
        OperatorHarness(window(EventTimeSessionWindows.with_gap(ms(10)), window_function=Describe())),
        """
        ('a', 1) @ 0    |
        ('a', 2) @ 10   |
        ('a', 3) @ 21   |
        end             | ('a', 0, 20, [1, 2]) @ 19; ('a', 21, 31, [3]) @ 30; watermark max
        """,
    )


class Tens(MergingWindowAssigner[Any, TimeWindow]):
    """Windows around an element that merge when they lie in the same ten."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        groups: dict[int, list[TimeWindow]] = {}
        for each in windows:
            groups.setdefault(each.start // 10, []).append(each)
        for group in groups.values():
            if len(group) > 1:
                callback.merge(group, TimeWindow(min(w.start for w in group), max(w.end for w in group)))

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_an_assigner_of_ones_own_that_merges() -> None:
    check_stream_table(
        OperatorHarness(window(Tens(), window_function=Describe())),
        """
        ('a', 1) @ 3    |
        ('a', 2) @ 12   |
        ('a', 3) @ 8    |
        ('a', 4) @ 5    |
        ('b', 5) @ 8    |
        end             | ('a', 3, 9, [1, 3, 4]) @ 8; ('b', 8, 9, [5]) @ 8; ('a', 12, 13, [2]) @ 12; watermark max
        """,
    )


def test_state_that_cannot_merge_is_rejected() -> None:
    class Unmergeable(Scripted):
        def on_merge(self, window: Any, ctx: Any) -> None:
            ctx.merge_partitioned_state(ValueStateDescriptor("value", Types.INT()))

    harness = OperatorHarness(
        window(EventTimeSessionWindows.with_gap(ms(10)), Unmergeable(), window_function=Describe())
    )
    with pytest.raises(StateError, match="'value' is described by a ValueStateDescriptor"):
        harness.process_batch([("a", 1), ("a", 2)], [0, 5])


def test_sessions_have_no_state_per_window() -> None:
    class Asking(Elements):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            yield context.window_state().get_list_state(ListStateDescriptor("mine", Types.INT()))

    harness = OperatorHarness(window(EventTimeSessionWindows.with_gap(ms(10)), window_function=Asking()))
    harness.process(("a", 1), 1)
    with pytest.raises(StateError, match="Per-window state is not allowed when using merging windows"):
        harness.end_input()
