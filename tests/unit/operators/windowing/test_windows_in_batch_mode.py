"""Batch mode: one result per key and window, whatever the order of the input; nothing is late."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.test_window_properties import CASES, Model
from tests.unit.operators.windowing.window_operations import Describe, Numbers, SameAsDefault, SumAndCount, ms, window

both = pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])
INPUT = [("b", 3), ("a", 21), ("a", 2), ("a", 14), ("b", 8), ("a", 4)]


def results(operation: Any, records: list[Any]) -> list[Any]:
    harness = OperatorHarness(operation, is_batch=True)
    if records:
        harness.process_batch(records, [time for _, time in records])
    harness.watermark(5)
    harness.end_input()
    return harness.timed_outputs()


@both
def test_key_after_key_and_window_after_window(trigger: Any) -> None:
    assert results(window(TumblingEventTimeWindows.of(ms(10)), trigger, window_function=Describe()), INPUT) == [
        (("a", 0, 10, [2, 4]), 9),
        (("a", 10, 20, [14]), 19),
        (("a", 20, 30, [21]), 29),
        (("b", 0, 10, [3, 8]), 9),
    ]
    assert results(window(SlidingEventTimeWindows.of(ms(10), ms(5)), trigger, aggregate=SumAndCount()), INPUT) == [
        ((6, 2), 4),
        ((6, 2), 9),
        ((14, 1), 14),
        ((14, 1), 19),
        ((21, 1), 24),
        ((21, 1), 29),
        ((3, 1), 4),
        ((11, 2), 9),
        ((8, 1), 14),
    ]
    assert results(window(EventTimeSessionWindows.with_gap(ms(5)), trigger, window_function=Describe()), INPUT) == [
        (("a", 2, 9, [2, 4]), 8),
        (("a", 14, 19, [14]), 18),
        (("a", 21, 26, [21]), 25),
        (("b", 3, 13, [3, 8]), 12),
    ]


def test_processing_time_windows_fire_when_their_key_is_through() -> None:
    operation = window(TumblingProcessingTimeWindows.of(ms(1000)), window_function=Describe())
    assert results(operation, INPUT) == [
        (("a", 0, 1000, [2, 4, 14, 21]), 999),
        (("b", 0, 1000, [3, 8]), 999),
    ]


def test_count_windows() -> None:
    operation = window(CountTumblingWindowAssigner.of(2), window_function=Numbers())
    assert [value for value, _ in results(operation, INPUT)] == [("a", [2, 4]), ("a", [14, 21]), ("b", [3, 8])]


@pytest.mark.parametrize("name", CASES)
@both
@settings(max_examples=20)
@given(records=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-40, 40)), max_size=20))
def test_as_in_streaming_without_watermarks(name: str, trigger: Any, records: Any) -> None:
    case = CASES[name]
    model = Model(case.windows_of, case.is_merging, 0)
    for value in sorted(records, key=lambda value: value[1]):
        model.record(value, value[1])
    model.advance((1 << 63) - 1)
    result = results(window(case.assigner, trigger, window_function=Describe()), records)
    assert sorted((time, *value) for value, time in result) == sorted(model.results)
