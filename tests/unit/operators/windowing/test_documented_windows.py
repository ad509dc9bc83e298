"""The windows that Flink's documentation shows, with the results it describes."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Time
from funke.datastream.window import (
    CountTrigger,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import Describe, Numbers, SameAsDefault, add, window

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
both = pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])


def windows_of(assigner: Any, times: list[int], trigger: Any = None) -> list[Any]:
    """Start, end and numbers of all windows of elements at the given event times."""
    harness = OperatorHarness(window(assigner, trigger, window_function=Describe()))
    harness.process_batch([("a", number) for number in range(len(times))], times)
    harness.end_input()
    return [result[1:] for result in harness.outputs()]


def windows_by_clock(assigner: Any, times: list[int], elements: list[Any] | None = None) -> list[Any]:
    """The same for elements that come at the given times of the clock."""
    harness = OperatorHarness(window(assigner, window_function=Describe()))
    for element, time in zip(elements or [("a", number) for number in range(len(times))], times):
        harness.set_processing_time(time)
        harness.process(element)
    harness.set_processing_time(max(times) + 10 * DAY)
    return [result[1:] for result in harness.outputs()]


@both
def test_tumbling(trigger: Any) -> None:
    five = TumblingEventTimeWindows.of(Time.seconds(5))
    assert windows_of(five, [0, 4999, 5000], trigger) == [(0, 5000, [0, 1]), (5000, 10_000, [2])]
    # A day in UTC+8 begins at 16:00 UTC of the day before.
    day = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    assert windows_of(day, [15 * HOUR, 16 * HOUR], trigger) == [
        (-8 * HOUR, 16 * HOUR, [0]),
        (16 * HOUR, 40 * HOUR, [1]),
    ]
    by_clock = TumblingProcessingTimeWindows.of(Time.seconds(5))
    assert windows_by_clock(by_clock, [1, 4998, 5000]) == [(0, 5000, [0, 1]), (5000, 10_000, [2])]


@both
def test_sliding(trigger: Any) -> None:
    ten_by_five = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    expected = [(-5000, 5000, [0]), (0, 10_000, [0, 1]), (5000, 15_000, [1])]
    assert windows_of(ten_by_five, [1000, 7000], trigger) == expected
    assert (
        windows_by_clock(SlidingProcessingTimeWindows.of(Time.seconds(10), Time.seconds(5)), [1000, 7000]) == expected
    )
    for offset, first_end in ((Time.minutes(-30), 20 * HOUR + 30 * MINUTE), (Time.hours(-8), 21 * HOUR)):
        results = windows_by_clock(SlidingProcessingTimeWindows.of(Time.hours(12), Time.hours(1), offset), [20 * HOUR])
        assert len(results) == 12
        assert results[0] == (first_end - 12 * HOUR, first_end, [0])


class GapInElement(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element[1]) * MINUTE


@both
def test_sessions(trigger: Any) -> None:
    ten = EventTimeSessionWindows.with_gap(Time.minutes(10))
    expected = [(0, 19 * MINUTE, [0, 1]), (30 * MINUTE, 40 * MINUTE, [2])]
    times = [0, 9 * MINUTE, 30 * MINUTE]
    assert windows_of(ten, times, trigger) == expected
    assert windows_by_clock(ProcessingTimeSessionWindows.with_gap(Time.minutes(10)), times) == expected


def test_sessions_with_a_gap_that_the_element_says() -> None:
    elements = [("a", 10), ("a", 1), ("a", 5)]
    times = [0, 5 * MINUTE, 20 * MINUTE]
    expected = [(0, 10 * MINUTE, [1, 10]), (20 * MINUTE, 25 * MINUTE, [5])]
    extractor = GapInElement()
    for assigner in (
        ProcessingTimeSessionWindows.with_dynamic_gap(extractor),
        DynamicProcessingTimeSessionWindows.with_dynamic_gap(extractor),
    ):
        assert windows_by_clock(assigner, times, elements) == expected
    harness = OperatorHarness(window(EventTimeSessionWindows.with_dynamic_gap(extractor), window_function=Describe()))
    harness.process_batch(elements, times)
    harness.end_input()
    assert [result[1:] for result in harness.outputs()] == expected


def test_the_global_window_holds_all_elements_of_a_key() -> None:
    harness = OperatorHarness(window(GlobalWindows.create(), CountTrigger.of(3), window_function=Numbers()))
    harness.process_batch([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
    assert harness.outputs() == [("a", [1, 3, 4])]


def test_lateness_means_nothing_to_processing_time() -> None:
    """Windows of processing time end when they end; the order of timestamps does not matter to them."""
    assigner = TumblingProcessingTimeWindows.of(Time.seconds(5))
    harness = OperatorHarness(window(assigner, reduce=add, allowed_lateness_ms=60_000))
    harness.watermark(1_000_000)
    harness.process_batch([("a", 1), ("a", 2)], [900, 100])
    harness.set_processing_time(4999)
    assert harness.timed_outputs() == [(("a", 3), 4999)]
    assert harness.operator.metrics()["numLateRecordsDropped"] == 0
    assert not harness.operator.backend.snapshot()  # type: ignore[attr-defined]
