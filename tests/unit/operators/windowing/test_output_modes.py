"""What a window operator emits each time: results once, what changed, or everything; the trigger decides."""

from __future__ import annotations

from typing import Any

from funke.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    TumblingEventTimeWindows,
)
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import add, ms, window

TEN = TumblingEventTimeWindows.of(ms(10))


def emitted(harness: OperatorHarness, watermark: int, *records: tuple[str, int, int]) -> list[Any]:
    """What comes of some (key, number, time), and of the watermark behind them."""
    for key, number, time in records:
        harness.process((key, number), time)
    harness.watermark(watermark)
    return sorted(harness.outputs())


def test_append_is_the_default_each_window_is_emitted_once_when_it_is_complete() -> None:
    """[0, 10) ends with watermark 9, [10, 20) with watermark 19; in between nothing changes what was emitted."""
    harness = OperatorHarness(window(TEN, reduce=add))
    assert emitted(harness, 4, ("a", 1, 1), ("b", 2, 2)) == []
    assert emitted(harness, 9, ("a", 3, 6), ("a", 5, 12)) == [("a", 4), ("b", 2)]
    assert emitted(harness, 19) == [("a", 5)]


def test_update_emits_the_windows_that_changed() -> None:
    """With CountTrigger(1) each record emits the new value of its own window and key, and of no other."""
    harness = OperatorHarness(window(TEN, CountTrigger.of(1), reduce=add))
    assert emitted(harness, 0, ("a", 1, 1), ("b", 2, 2)) == [("a", 1), ("b", 2)]
    assert emitted(harness, 0, ("a", 3, 6)) == [("a", 4)]
    assert emitted(harness, 0, ("b", 5, 12)) == [("b", 5)]


def test_update_of_complete_windows_by_late_records() -> None:
    """With a lateness of 20 the window that was emitted at 9 is emitted again, and alone, for each record it gets."""
    harness = OperatorHarness(window(TEN, reduce=add, allowed_lateness_ms=20))
    assert emitted(harness, 9, ("a", 1, 1), ("b", 2, 2)) == [("a", 1), ("b", 2)]
    assert emitted(harness, 12, ("a", 3, 6)) == [("a", 4)]
    assert emitted(harness, 19) == []


def test_complete_emits_all_open_windows_each_time_changed_or_not() -> None:
    """With a continuous trigger of 5 ms all windows that are open fire when the watermark passes 5, 10, 15 …"""
    harness = OperatorHarness(
        window(TumblingEventTimeWindows.of(ms(100)), ContinuousEventTimeTrigger.of(ms(5)), reduce=add)
    )
    assert emitted(harness, 5, ("a", 1, 1), ("b", 2, 2)) == [("a", 1), ("b", 2)]
    assert emitted(harness, 10, ("a", 3, 6)) == [("a", 4), ("b", 2)]
    assert emitted(harness, 15) == [("a", 4), ("b", 2)], "nothing has changed, and all is emitted"
