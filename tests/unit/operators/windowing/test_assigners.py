"""Which windows an element gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.errors import ConfigurationError, GraphError
from funke.engine.operators.windowing.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from funke.engine.operators.windowing.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.operators.windowing.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from funke.engine.operators.windowing.windows import MIN_LONG_VALUE, GlobalWindow
from funke.engine.types.time import Duration, Time
from tests.unit.operators.windowing.recording_context import RecordingContext


class GapIsTheElement(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element)


def assigned(assigner: WindowAssigner[Any, Any], timestamp: int | None, element: Any = None, now: int = 0) -> list[Any]:
    context = RecordingContext(processing_time=now)
    windows = assigner.assign_windows(element, timestamp, context)  # type: ignore[arg-type]
    return [(window.start, window.end) for window in windows]


def test_tumbling_windows() -> None:
    assigner = TumblingEventTimeWindows.of(Time.seconds(5))

    assert assigned(assigner, 4999) == [(0, 5000)]
    assert assigned(assigner, 5000) == [(5000, 10000)]
    assert assigned(assigner, -1) == [(-5000, 0)]


def test_tumbling_windows_with_an_offset() -> None:
    local_days = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))

    # 1970-01-02T00:00 in UTC+8 is 1970-01-01T16:00Z.
    assert assigned(local_days, 16 * 3_600_000) == [(16 * 3_600_000, 40 * 3_600_000)]
    assert assigned(local_days, 16 * 3_600_000 - 1) == [(-8 * 3_600_000, 16 * 3_600_000)]


def test_tumbling_windows_by_processing_time_ignore_the_timestamp() -> None:
    assert assigned(TumblingProcessingTimeWindows.of(Time.seconds(1)), 99_999, now=1500) == [(1000, 2000)]


def test_a_duration_is_as_good_as_a_time() -> None:
    assert repr(TumblingEventTimeWindows.of(Duration.of_seconds(5))) == "TumblingEventTimeWindows(5000, 0)"  # type: ignore[arg-type]


def test_sliding_windows_come_latest_first_and_may_start_before_zero() -> None:
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2))

    assert assigned(assigner, 1) == [(0, 5), (-2, 3)]
    assert assigned(assigner, 4) == [(4, 9), (2, 7), (0, 5)]


def test_an_element_between_sliding_windows_gets_none() -> None:
    assert assigned(SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(10)), 5) == []


@given(st.integers(-1000, 1000), st.integers(1, 60), st.integers(1, 20), st.data())
def test_sliding_windows_are_all_that_contain_the_element(timestamp: int, size: int, slide: int, data: Any) -> None:
    offset = data.draw(st.integers(-slide + 1, slide - 1))
    windows = assigned(SlidingEventTimeWindows(size, slide, offset), timestamp)

    starts = [start for start in range(timestamp - size - slide, timestamp + 1) if (start - offset) % slide == 0]
    assert sorted(windows) == [(start, start + size) for start in starts if start <= timestamp < start + size]


def test_sliding_windows_by_processing_time() -> None:
    assigner = SlidingProcessingTimeWindows.of(Time.milliseconds(4), Time.milliseconds(2))

    assert assigned(assigner, None, now=5) == [(4, 8), (2, 6)]
    assert isinstance(assigner.get_default_trigger(None), ProcessingTimeTrigger)


def test_sessions() -> None:
    assert assigned(EventTimeSessionWindows.with_gap(Time.milliseconds(10)), 7) == [(7, 17)]
    assert assigned(ProcessingTimeSessionWindows.with_gap(Time.milliseconds(10)), 7, now=100) == [(100, 110)]
    assert isinstance(EventTimeSessionWindows.with_gap(Time.seconds(1)), MergingWindowAssigner)


def test_sessions_with_a_gap_from_the_element() -> None:
    assert assigned(EventTimeSessionWindows.with_dynamic_gap(GapIsTheElement()), 7, element=3) == [(7, 10)]
    assert assigned(ProcessingTimeSessionWindows.with_dynamic_gap(GapIsTheElement()), 7, 3, now=50) == [(50, 53)]
    with pytest.raises(ConfigurationError, match="gaps greater than 0, got 0 ms for 0"):
        assigned(EventTimeSessionWindows.with_dynamic_gap(GapIsTheElement()), 7, element=0)


@pytest.mark.parametrize("timestamp", [None, MIN_LONG_VALUE])
def test_event_time_windows_need_timestamps(timestamp: int | None) -> None:
    with pytest.raises(
        GraphError, match=r"TumblingEventTimeWindows needs elements with timestamps; call assign_timestamps"
    ):
        assigned(TumblingEventTimeWindows.of(Time.seconds(1)), timestamp)


def count_windows(assigner: WindowAssigner[Any, Any], elements: int) -> list[list[int]]:
    context = RecordingContext()
    return [[window.id for window in assigner.assign_windows(None, 0, context)] for _ in range(elements)]


def test_count_windows() -> None:
    assert count_windows(CountTumblingWindowAssigner.of(2), 5) == [[0], [0], [1], [1], [2]]


def test_sliding_count_windows_have_no_partial_window_at_the_start() -> None:
    assert count_windows(CountSlidingWindowAssigner.of(3, 1), 4) == [[0], [1, 0], [2, 1, 0], [3, 2, 1]]
    assert count_windows(CountSlidingWindowAssigner.of(4, 2), 6) == [[0], [0], [1, 0], [1, 0], [2, 1], [2, 1]]


def test_sliding_count_windows_with_gaps_leave_elements_out() -> None:
    assert count_windows(CountSlidingWindowAssigner.of(1, 3), 5) == [[0], [], [], [1], []]


def test_global_windows() -> None:
    assert GlobalWindows.create().assign_windows("x", 0, RecordingContext()) == [GlobalWindow()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TumblingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)), r"abs\(offset\) < size"),
        (
            lambda: SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(1), Time.seconds(-1)),
            "offset smaller than these",
        ),
        (lambda: SlidingEventTimeWindows.of(Time.seconds(0), Time.seconds(1)), "size > 0"),
        (lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)), "a gap greater than 0, got 0 ms"),
    ],
)
def test_wrong_sizes_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_default_triggers_and_kinds_of_time() -> None:
    assert isinstance(TumblingEventTimeWindows.of(Time.seconds(1)).get_default_trigger(None), EventTimeTrigger)
    assert isinstance(CountTumblingWindowAssigner.of(1).get_default_trigger(None), CountTrigger)
    assert isinstance(GlobalWindows.create().get_default_trigger(None), NeverTrigger)
    assert EventTimeSessionWindows.with_gap(Time.seconds(1)).is_event_time()
    assert not ProcessingTimeSessionWindows.with_gap(Time.seconds(1)).is_event_time()


def test_text_forms() -> None:
    assert (
        repr(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1))) == "SlidingEventTimeWindows(2000, 1000, 0)"
    )
    assert repr(EventTimeSessionWindows.with_gap(Time.seconds(1))) == "EventTimeSessionWindows(1000)"
    assert repr(CountSlidingWindowAssigner.of(3, 1)) == "CountSlidingWindowAssigner(3, 1)"
    assert repr(GlobalWindows.create()) == "GlobalWindows()"
