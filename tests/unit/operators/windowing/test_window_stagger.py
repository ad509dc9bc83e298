"""Windows that are shifted against each other in the subtasks."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.window import (
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import Describe, ms, window


def started_windows(assigner: Any, first_time: int, *times: int) -> list[tuple[int, int]]:
    """The windows that a subtask has when its first element comes at some time."""
    harness = OperatorHarness(window(assigner, window_function=Describe()))
    for time in (first_time, *times):
        harness.set_processing_time(time)
        harness.process_batch([("a", time)], [time])
    harness.set_processing_time(10**6)
    harness.watermark(10**6)
    return [(start, end) for _, start, end, _ in harness.outputs()]


def test_natural_windows_begin_with_the_first_element() -> None:
    """Flink: the shift is the distance of the first element's time from the start of its aligned window, 3 of 10."""
    assigner = TumblingProcessingTimeWindows.of(ms(10)).with_stagger(WindowStagger.NATURAL)
    assert started_windows(assigner, 103, 111, 113) == [(103, 113), (113, 123)]


def test_an_offset_adds_to_the_shift() -> None:
    assigner = TumblingProcessingTimeWindows.of(ms(10), ms(2)).with_stagger(WindowStagger.NATURAL)
    assert started_windows(assigner, 103, 105) == [(95, 105), (105, 115)]


def test_sliding_windows_are_shifted_within_a_slide() -> None:
    assigner = SlidingProcessingTimeWindows.of(ms(10), ms(5)).with_stagger(WindowStagger.NATURAL)
    assert sorted(started_windows(assigner, 103)) == [(98, 108), (103, 113)]


def test_event_time_windows_are_shifted_by_the_clock() -> None:
    assigner = TumblingEventTimeWindows.of(ms(10)).with_stagger(WindowStagger.NATURAL)
    harness = OperatorHarness(window(assigner, window_function=Describe()))
    harness.set_processing_time(104)
    harness.process_batch([("a", 1), ("a", 2)], [13, 14])
    harness.watermark(100)
    assert harness.outputs() == [("a", 4, 14, [1]), ("a", 14, 24, [2])]


def test_random_windows_differ_from_subtask_to_subtask_but_not_within_one() -> None:
    starts = set()
    for _ in range(30):
        assigner = TumblingProcessingTimeWindows.of(ms(1000)).with_stagger(WindowStagger.RANDOM)
        (first, second) = started_windows(assigner, 5_000, 6_000)
        assert second[0] - first[0] == 1000
        assert first[0] <= 5_000 < first[1]
        starts.add(first[0] % 1000)
    assert len(starts) > 10


def test_aligned_is_no_shift_and_the_default() -> None:
    assigner = TumblingProcessingTimeWindows.of(ms(10))
    assert started_windows(assigner, 103) == [(100, 110)]
    assert started_windows(assigner.with_stagger(WindowStagger.ALIGNED), 103) == [(100, 110)]


def test_the_offsets_of_flink() -> None:
    assert WindowStagger.ALIGNED.get_stagger_offset(1234, 100) == 0
    assert WindowStagger.NATURAL.get_stagger_offset(1234, 100) == 34
    assert all(0 <= WindowStagger.RANDOM.get_stagger_offset(1234, 100) < 100 for _ in range(50))


def test_only_a_stagger_is_accepted() -> None:
    with pytest.raises(TypeError, match=r"needs a WindowStagger, got 'RANDOM'; write WindowStagger\.RANDOM"):
        TumblingProcessingTimeWindows.of(ms(10)).with_stagger("RANDOM")  # type: ignore[arg-type]
