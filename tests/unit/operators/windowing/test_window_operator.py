"""The rules of windows, row by row; where there is a fast operator, the general one has to do the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from funke.datastream.functions import AggregateFunction, ProcessWindowFunction
from funke.datastream.state import ListStateDescriptor, ValueStateDescriptor
from funke.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.operators.windowing.fast.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.window_operator import WindowOperator
from funke.engine.types import Row
from funke.engine.types.information.type_catalog import Types
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table
from tests.unit.operators.windowing.window_operations import (
    Describe,
    Elements,
    Numbers,
    SameAsDefault,
    SumAndCount,
    add,
    first,
    ms,
    window,
)

TEN = TumblingEventTimeWindows.of(ms(10))
both = pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])


def test_the_default_trigger_has_a_fast_operator() -> None:
    assert type(OperatorHarness(window(TEN, reduce=add)).operator) is AlignedWindowOperator
    assert type(OperatorHarness(window(TEN, SameAsDefault(), reduce=add)).operator) is WindowOperator


@both
def test_a_window_fires_when_the_watermark_reaches_its_last_millisecond(trigger: Any) -> None:
    check_stream_table(
        OperatorHarness(window(TEN, trigger, reduce=add)),
        """
        ('a', 1) @ 0    |
        ('b', 5) @ 9    |
        ('a', 2) @ 3    |
        ('a', 7) @ 10   |
        watermark 8     | watermark 8
        watermark 9     | ('a', 3) @ 9; ('b', 5) @ 9; watermark 9
        ('a', 4) @ 12   |
        end             | ('a', 11) @ 19; watermark max
        """,
    )


@both
def test_windows_begin_at_multiples_of_the_size_plus_the_offset_also_before_1970(trigger: Any) -> None:
    check_stream_table(
        OperatorHarness(window(TumblingEventTimeWindows.of(ms(10), ms(-3)), trigger, window_function=Describe())),
        """
        ('a', 1) @ -14  |
        ('a', 2) @ -13  |
        ('a', 3) @ -4   |
        ('a', 4) @ -3   |
        end             | ('a', -23, -13, [1]) @ -14; ('a', -13, -3, [2, 3]) @ -4; ('a', -3, 7, [4]) @ 6; watermark max
        """,
    )


@both
def test_an_element_is_in_every_sliding_window_that_contains_its_time(trigger: Any) -> None:
    check_stream_table(
        OperatorHarness(window(SlidingEventTimeWindows.of(ms(10), ms(5)), trigger, window_function=Describe())),
        """
        ('a', 1) @ 3    |
        ('a', 2) @ 5    |
        watermark 4     | ('a', -5, 5, [1]) @ 4; watermark 4
        ('a', 3) @ 4    |
        watermark 9     | ('a', 0, 10, [1, 2, 3]) @ 9; watermark 9
        end             | ('a', 5, 15, [2]) @ 14; watermark max
        """,
    )


@both
def test_a_slide_longer_than_the_size_leaves_elements_out(trigger: Any) -> None:
    harness = OperatorHarness(window(SlidingEventTimeWindows.of(ms(2), ms(5)), trigger, window_function=Describe()))
    check_stream_table(
        harness,
        """
        ('a', 1) @ 1    |
        ('a', 2) @ 2    |
        ('a', 3) @ 5    |
        watermark 3     | ('a', 0, 2, [1]) @ 1; watermark 3
        ('a', 4) @ 3    |
        end             | ('a', 5, 7, [3]) @ 6; watermark max
        """,
    )
    # 4 came at its time plus lateness <= watermark: that it would be in no window anyway makes no difference to Flink.
    assert harness.operator.metrics()["numLateRecordsDropped"] == 1


@both
@pytest.mark.parametrize(
    ("combine", "expected"),
    [({"reduce": add}, [("a", 3)]), ({"aggregate": SumAndCount()}, [(3, 2)])],
    ids=["reduce", "aggregate"],
)
def test_a_function_after_reduce_or_aggregate_sees_exactly_one_element(
    trigger: Any, combine: Any, expected: Any
) -> None:
    harness = OperatorHarness(window(TEN, trigger, window_function=Elements(), **combine))
    harness.process_batch([("a", 1), ("a", 2)], [1, 2])
    harness.end_input()
    assert harness.timed_outputs() == [(("a", 0, expected), 9)]


@both
def test_none_is_no_result(trigger: Any) -> None:
    class NoResult(SumAndCount):
        def get_result(self, accumulator: Any) -> Any:
            return None if accumulator[1] == 1 else accumulator

    harness = OperatorHarness(window(TEN, trigger, aggregate=NoResult()))
    harness.process_batch([("a", 1), ("b", 2), ("a", 3)], [1, 2, 3])
    harness.end_input()
    assert harness.outputs() == [(4, 2)]


@both
def test_a_function_that_changes_its_argument_changes_only_its_own_window(trigger: Any) -> None:
    def add_and_mutate(left: Row, right: Row) -> Row:
        left[1] += right[1]
        return left

    harness = OperatorHarness(
        window(SlidingEventTimeWindows.of(ms(10), ms(5)), trigger, reduce=add_and_mutate, key_selector=first)
    )
    harness.process_batch([Row("a", 1), Row("a", 2)], [3, 6])
    harness.end_input()
    assert harness.outputs() == [Row("a", 1), Row("a", 3), Row("a", 2)]


@both
def test_an_accumulator_that_is_emitted_again_does_not_change_the_first_result(trigger: Any) -> None:
    class Collect(AggregateFunction):
        def create_accumulator(self) -> Any:
            return []

        def add(self, value: Any, accumulator: Any) -> Any:
            accumulator.append(value[1])
            return accumulator

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    harness = OperatorHarness(window(TEN, trigger, aggregate=Collect(), allowed_lateness_ms=10))
    harness.process(("a", 1), 1)
    harness.watermark(9)
    harness.process_batch([("a", 2), ("a", 3)], [2, 3])
    assert harness.outputs() == [[1], [1, 2], [1, 2, 3]]


class Remember(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts firings per window and per key, and notes which windows were cleared."""

    def __init__(self) -> None:
        self.cleared: list[Any] = []

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        counts = []
        for store in (context.window_state(), context.global_state()):
            state = store.get_state(ValueStateDescriptor("firings", Types.INT()))
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        yield key, context.window().start, *counts, context.current_watermark(), context.current_processing_time()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("firings", Types.INT())).clear()
        seen = context.global_state().get_list_state(ListStateDescriptor("cleared", Types.INT()))
        seen.add(context.window().start)
        self.cleared = list(seen.get())


@both
def test_a_process_function_has_state_per_window_and_per_key(trigger: Any) -> None:
    function = Remember()
    harness = OperatorHarness(window(TEN, trigger, window_function=function, allowed_lateness_ms=5))
    harness.clock.set(77)
    check_stream_table(
        harness,
        """
        ('a', 1) @ 1    |
        watermark 9     | ('a', 0, 1, 1, 9, 77) @ 9; watermark 9
        ('a', 2) @ 2    | ('a', 0, 2, 2, 9, 77) @ 2
        ('b', 2) @ 12   |
        ('a', 2) @ 12   |
        watermark 13    | watermark 13
        watermark 19    | ('b', 10, 1, 1, 19, 77) @ 19; ('a', 10, 1, 3, 19, 77) @ 19; watermark 19
        end             | watermark max
        """,
    )
    assert function.cleared == [0, 10]
    assert harness.operator.backend.snapshot().keys()  # type: ignore[attr-defined]
    names = {name for part in harness.operator.backend.snapshot().values() for name, *_ in part}  # type: ignore[attr-defined]
    assert names == {"firings", "cleared"}, "only the state of the keys is left"


def test_tumbling_processing_time_windows_follow_the_clock() -> None:
    """A job that starts at 9:15 has a first window of 45 minutes: windows are aligned to the clock."""
    hour = 3_600_000
    start = 9 * hour + hour // 4
    harness = OperatorHarness(
        window(TumblingProcessingTimeWindows.of(ms(hour)), window_function=Describe(), key_selector=first)
    )
    harness.clock.set(start)
    harness.process(("a", 1))
    harness.set_processing_time(10 * hour - 2)
    harness.process(("a", 2))
    assert harness.outputs() == []
    harness.set_processing_time(10 * hour - 1)
    assert harness.timed_outputs() == [(("a", 9 * hour, 10 * hour, [1, 2]), 10 * hour - 1)]
    harness.process(("a", 3))
    harness.set_processing_time(11 * hour)
    assert harness.outputs() == [("a", 9 * hour, 10 * hour, [3])], "its window was the one of 9:59:59.999"
    harness.process(("a", 4))
    harness.set_processing_time(11 * hour + hour // 2)
    harness.process(("a", 5))
    assert harness.outputs() == []
    harness.set_processing_time(12 * hour - 1)
    assert harness.timed_outputs() == [(("a", 11 * hour, 12 * hour, [4, 5]), 12 * hour - 1)], "a whole hour"


def test_sliding_processing_time_windows() -> None:
    check_stream_table(
        OperatorHarness(window(SlidingProcessingTimeWindows.of(ms(10), ms(5)), window_function=Describe())),
        """
        time 12         |
        ('a', 1)        |
        time 14         | ('a', 5, 15, [1]) @ 14
        time 16         |
        ('a', 2)        |
        time 30         | ('a', 10, 20, [1, 2]) @ 19; ('a', 15, 25, [2]) @ 24
        """,
    )


def test_processing_time_sessions_end_when_nothing_comes_for_the_gap() -> None:
    check_stream_table(
        OperatorHarness(window(ProcessingTimeSessionWindows.with_gap(ms(10)), window_function=Describe())),
        """
        time 100        |
        ('a', 1)        |
        time 109        | ('a', 100, 110, [1]) @ 109
        time 120        |
        ('a', 2)        |
        time 125        |
        ('a', 3)        |
        ('b', 4)        |
        time 140        | ('a', 120, 135, [2, 3]) @ 134; ('b', 125, 135, [4]) @ 134
        """,
    )


def test_open_processing_time_windows_do_not_fire_at_the_end() -> None:
    check_stream_table(
        OperatorHarness(window(TumblingProcessingTimeWindows.of(ms(10)), reduce=add)),
        """
        ('a', 1)        |
        end             | watermark max
        """,
    )


def test_count_windows_fire_when_they_are_full_and_never_else() -> None:
    check_stream_table(
        OperatorHarness(window(CountTumblingWindowAssigner.of(2), window_function=Numbers())),
        """
        ('a', 1) @ 5    |
        ('b', 2) @ 6    |
        ('a', 3) @ 7    | ('a', [1, 3]) @ 7
        ('a', 4) @ 8    |
        end             | watermark max
        """,
    )


def test_sliding_count_windows_have_no_partial_windows() -> None:
    """Flink's Java API would fire after 2 elements with [1, 2]; PyFlink's windows are always full."""
    check_stream_table(
        OperatorHarness(window(CountSlidingWindowAssigner.of(4, 2), window_function=Numbers())),
        """
        ('a', 1)        |
        ('a', 2)        |
        ('a', 3)        |
        ('a', 4)        | ('a', [1, 2, 3, 4])
        ('a', 5)        |
        ('a', 6)        | ('a', [3, 4, 5, 6])
        end             | watermark max
        """,
    )


def test_the_global_window_needs_a_trigger() -> None:
    check_stream_table(
        OperatorHarness(window(GlobalWindows.create(), window_function=Numbers())),
        """
        ('a', 1) @ 1    |
        end             | watermark max
        """,
    )
    check_stream_table(
        OperatorHarness(window(GlobalWindows.create(), CountTrigger.of(2), window_function=Numbers())),
        """
        ('a', 1)        |
        ('a', 2)        | ('a', [1, 2])
        ('a', 3)        |
        ('a', 4)        | ('a', [1, 2, 3, 4])
        end             | watermark max
        """,
    )
    purging = PurgingTrigger.of(CountTrigger.of(2))
    check_stream_table(
        OperatorHarness(window(GlobalWindows.create(), purging, window_function=Numbers())),
        """
        ('a', 1)        |
        ('a', 2)        | ('a', [1, 2])
        ('a', 3)        |
        ('a', 4)        | ('a', [3, 4])
        """,
    )
