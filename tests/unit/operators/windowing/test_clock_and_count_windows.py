"""Processing-time windows and count windows: the fast operators do what the general one does, also across restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DynamicProcessingTimeSessionWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from funke.engine.operators.windowing.fast.count_windows import CountWindowOperator
from funke.engine.operators.windowing.fast.processing_time_sessions import ProcessingTimeSessionOperator
from funke.engine.operators.windowing.fast.processing_time_windows import ProcessingTimeWindowOperator
from funke.engine.operators.windowing.window_operator import WindowOperator
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import Elements, Numbers, SumAndCount, add, ms, window


class NumberAsGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 1 + int(element[1]) % 7


class SlowClockTrigger(ProcessingTimeTrigger[Any]):
    """The default trigger under another name: the operator has to ask it about every record."""


class SlowCountTrigger(CountTrigger[Any]):
    """The default trigger under another name."""


WAYS: list[dict[str, Any]] = [
    {"reduce": add},
    {"aggregate": SumAndCount()},
    {"window_function": Numbers()},
    {"reduce": add, "window_function": Numbers()},
]
CLOCK_ASSIGNERS: list[WindowAssigner[Any, Any]] = [
    TumblingProcessingTimeWindows.of(ms(10)),
    TumblingProcessingTimeWindows.of(ms(10), ms(-3)),
    SlidingProcessingTimeWindows.of(ms(12), ms(4)),
    SlidingProcessingTimeWindows.of(ms(5), ms(8), ms(1)),
    ProcessingTimeSessionWindows.with_gap(ms(6)),
    DynamicProcessingTimeSessionWindows.with_dynamic_gap(NumberAsGap()),
]
COUNT_ASSIGNERS: list[tuple[WindowAssigner[Any, Any], int]] = [
    (CountTumblingWindowAssigner(1), 1),
    (CountTumblingWindowAssigner(3), 3),
    (CountSlidingWindowAssigner(4, 2), 4),
    (CountSlidingWindowAssigner(5, 3), 5),
    (CountSlidingWindowAssigner(2, 5), 2),
]
# Batches of (key, number), each after the clock has moved on; a restart may come before any of them.
BATCHES = st.lists(
    st.tuples(
        st.integers(0, 9), st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99)), max_size=6), st.booleans()
    ),
    max_size=12,
)
Batches = list[tuple[int, list[Any], bool]]
FAST_CLOCK = (ProcessingTimeWindowOperator, ProcessingTimeSessionOperator)


def run(operations: list[Any], batches: Batches, expected: type | tuple[type, ...]) -> list[Any]:
    """The results, in order; a restart goes on with the next operation."""
    turn, now = 0, 1_000
    harness = OperatorHarness(operations[0])
    harness.set_processing_time(now)
    results: list[Any] = []
    for step, records, is_restarted in batches:
        if is_restarted:
            turn += 1
            results += harness.timed_outputs()
            snapshot = harness.snapshot()
            harness = OperatorHarness(operations[turn % len(operations)], restored=[snapshot])
            harness.clock.set(now)
        now += step
        harness.set_processing_time(now)
        harness.process_batch(records, [now - 5] * len(records))
        harness.end_epoch()
    assert isinstance(harness.operator, expected)
    harness.set_processing_time(now + 100)
    return results + harness.timed_outputs()


def in_any_order_at_one_time(results: list[Any]) -> list[Any]:
    return sorted(results, key=lambda pair: (pair[1], repr(pair[0])))


@pytest.mark.parametrize("assigner", CLOCK_ASSIGNERS, ids=repr)
@pytest.mark.parametrize("way", WAYS, ids="+".join)
@settings(max_examples=30)
@given(batches=BATCHES)
def test_processing_time_windows(assigner: WindowAssigner[Any, Any], way: dict[str, Any], batches: Batches) -> None:
    general, fast = window(assigner, SlowClockTrigger(), **way), window(assigner, **way)
    expected = in_any_order_at_one_time(run([general], batches, WindowOperator))
    assert in_any_order_at_one_time(run([fast], batches, FAST_CLOCK)) == expected
    mixed = run([fast, general], batches, WindowOperator)
    assert in_any_order_at_one_time(mixed) == expected, "a restart may change the operator"


@pytest.mark.parametrize(("assigner", "size"), COUNT_ASSIGNERS, ids=repr)
@pytest.mark.parametrize("way", WAYS, ids="+".join)
@settings(max_examples=30)
@given(batches=BATCHES)
def test_count_windows(assigner: WindowAssigner[Any, Any], size: int, way: dict[str, Any], batches: Batches) -> None:
    general, fast = window(assigner, SlowCountTrigger(size), **way), window(assigner, **way)
    expected = run([general], batches, WindowOperator)
    assert run([fast], batches, CountWindowOperator) == expected
    assert run([fast, general], batches, WindowOperator) == expected, "a restart may change the operator"


def test_which_operator_runs_what() -> None:
    clock, count = TumblingProcessingTimeWindows.of(ms(10)), CountTumblingWindowAssigner(3)
    fast_clock = OperatorHarness(window(clock, PurgingTrigger.of(ProcessingTimeTrigger()), reduce=add))
    fast_count = OperatorHarness(window(count, PurgingTrigger.of(CountTrigger(3)), reduce=add))
    assert isinstance(fast_clock.operator, ProcessingTimeWindowOperator)
    assert isinstance(fast_count.operator, CountWindowOperator)
    other_count = OperatorHarness(window(count, CountTrigger(2), reduce=add))
    assert type(other_count.operator) is WindowOperator


def test_a_window_fires_once_when_the_clock_passes_its_end() -> None:
    """Size 10: the window of time 12 is [10, 20); its last millisecond is 19."""
    harness = OperatorHarness(window(TumblingProcessingTimeWindows.of(ms(10)), reduce=add))
    harness.set_processing_time(12)
    harness.process_batch([("a", 1), ("b", 5), ("a", 2)], None)
    assert harness.operator.next_wakeup_ms() == 19
    harness.set_processing_time(18)
    assert harness.timed_outputs() == []
    harness.set_processing_time(19)
    assert harness.timed_outputs() == [(("a", 3), 19), (("b", 5), 19)]
    assert harness.operator.next_wakeup_ms() is None


def test_windows_that_are_open_at_the_end_of_the_input_never_fire() -> None:
    harness = OperatorHarness(window(TumblingProcessingTimeWindows.of(ms(10)), reduce=add))
    harness.process_batch([("a", 1)], None)
    harness.end_input()
    assert harness.outputs() == []


def test_full_count_windows_are_forgotten() -> None:
    harness = OperatorHarness(window(CountTumblingWindowAssigner(2), window_function=Elements()))
    operator = harness.operator
    assert isinstance(operator, CountWindowOperator)
    with pytest.raises(AttributeError, match="start"):
        harness.process_batch([("a", 1), ("a", 2)], None)  # a count window has no start
    assert operator._keys["a"] == [2, {}]
