"""Any window result is what a plain computation over the whole input gives, on fast and general operators alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from funke.engine.operators.windowing.fast.sliding_windows import SlidingWindowOperator
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import Describe, SameAsDefault, SumAndCount, add, ms, window

LATE = OutputTag("late")
Span = tuple[int, int]


class NumberAsGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 1 + element[1] % 7


@dataclass
class Model:
    """The rules in their plainest form: elements per key and window, no state, no timers."""

    windows_of: Callable[[Any, int], list[Span]]
    is_merging: bool
    lateness: int
    watermark: int = -(1 << 63)
    contents: dict[tuple[Any, Span], list[int]] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    late: list[Any] = field(default_factory=list)

    def record(self, value: Any, time: int) -> None:
        key, number = value
        is_skipped = True
        for span in self.windows_of(value, time):
            numbers: list[int] = []
            if self.is_merging:
                span, numbers = self._merge(key, span)
            if span[1] - 1 + self.lateness <= self.watermark:
                continue
            is_skipped = False
            self.contents[key, span] = [*self.contents.get((key, span), []), *numbers, number]
            if span[1] - 1 <= self.watermark:
                self._fire(key, span, time)
        if is_skipped and time + self.lateness <= self.watermark:
            self.late.append(value)

    def _merge(self, key: Any, span: Span) -> tuple[Span, list[int]]:
        touching = [other for owner, other in self.contents if owner == key and _touch(other, span)]
        numbers = [number for other in touching for number in self.contents.pop((key, other))]
        ends = [span, *touching]
        return (min(start for start, _ in ends), max(end for _, end in ends)), numbers

    def advance(self, watermark: int) -> None:
        for key, span in sorted(self.contents, key=lambda entry: (entry[1][1], str(entry))):
            if self.watermark < span[1] - 1 <= watermark:
                self._fire(key, span, span[1] - 1)
        self.watermark = watermark
        self.contents = {
            entry: numbers for entry, numbers in self.contents.items() if entry[1][1] - 1 + self.lateness > watermark
        }

    def _fire(self, key: Any, span: Span, time: int) -> None:
        self.results.append((time, key, *span, sorted(self.contents[key, span])))


def _touch(left: Span, right: Span) -> bool:
    return left[0] <= right[1] and right[0] <= left[1]


def sliding(size: int, slide: int, offset: int) -> Callable[[Any, int], list[Span]]:
    def windows_of(value: Any, time: int) -> list[Span]:
        starts = [start for start in range(time - size + 1, time + 1) if (start - offset) % slide == 0]
        return [(start, start + size) for start in starts]

    return windows_of


@dataclass(frozen=True)
class Case:
    assigner: WindowAssigner[Any, Any]
    windows_of: Callable[[Any, int], list[Span]]
    is_merging: bool = False


CASES = {
    "tumbling": Case(TumblingEventTimeWindows.of(ms(7), ms(-3)), sliding(7, 7, -3)),
    "sliding": Case(SlidingEventTimeWindows.of(ms(12), ms(3), ms(1)), sliding(12, 3, 1)),
    "uneven": Case(SlidingEventTimeWindows.of(ms(10), ms(4)), sliding(10, 4, 0)),
    "gaps": Case(SlidingEventTimeWindows.of(ms(3), ms(5)), sliding(3, 5, 0)),
    "session": Case(EventTimeSessionWindows.with_gap(ms(4)), lambda value, time: [(time, time + 4)], True),
    "dynamic": Case(
        EventTimeSessionWindows.with_dynamic_gap(NumberAsGap()),
        lambda value, time: [(time, time + 1 + value[1] % 7)],
        True,
    ),
}

# A batch of (key, time) pairs, then how far the watermark moves, and whether the job restarts.
records = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-25, 25)), max_size=8)
steps = st.lists(st.tuples(records, st.integers(0, 9), st.booleans()), max_size=8)


@pytest.mark.parametrize("lateness", [0, 4])
@pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40)
@given(steps=steps)
def test_elements_of_windows(name: str, trigger: Any, lateness: int, steps: Any) -> None:
    case = CASES[name]
    operation = window(case.assigner, trigger, window_function=Describe(), allowed_lateness_ms=lateness, late_tag=LATE)
    model = Model(case.windows_of, case.is_merging, lateness)
    results, late = run(operation, model, steps)
    assert sorted(results) == sorted(model.results)
    assert late == model.late


@pytest.mark.parametrize("lateness", [0, 4])
@pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])
@pytest.mark.parametrize("combine", [{"reduce": add}, {"aggregate": SumAndCount()}], ids=["reduce", "aggregate"])
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25)
@given(steps=steps)
def test_combined_elements(name: str, combine: dict[str, Any], trigger: Any, lateness: int, steps: Any) -> None:
    case = CASES[name]
    operation = window(case.assigner, trigger, allowed_lateness_ms=lateness, late_tag=LATE, **combine)
    model = Model(case.windows_of, case.is_merging, lateness)
    results, late = run(operation, model, steps)
    is_reduce = "reduce" in combine
    expected = [
        (time, key, sum(numbers)) if is_reduce else (time, sum(numbers), len(numbers))
        for time, key, _, _, numbers in model.results
    ]
    assert sorted(results) == sorted(expected)
    assert late == model.late


@pytest.mark.parametrize("combine", [{"reduce": add}, {"aggregate": SumAndCount()}], ids=["reduce", "aggregate"])
@pytest.mark.parametrize("name", ["sliding", "uneven"])
@settings(max_examples=60)
@given(steps=steps)
def test_panes_that_windows_share(name: str, combine: dict[str, Any], steps: Any) -> None:
    case = CASES[name]
    operation = window(case.assigner, EventTimeTrigger(), late_tag=LATE, **combine)
    model = Model(case.windows_of, False, 0)
    results, late = run(operation, model, steps, is_sharing=True)
    is_reduce = "reduce" in combine
    expected = [
        (time, key, sum(numbers)) if is_reduce else (time, sum(numbers), len(numbers))
        for time, key, _, _, numbers in model.results
    ]
    assert sorted(results) == sorted(expected)
    assert late == model.late


@settings(max_examples=40)
@given(
    times=st.lists(st.integers(0, 60), min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_sessions_do_not_depend_on_the_order_of_arrival(times: list[int], order: Any) -> None:
    def sessions(arrivals: list[int]) -> list[Any]:
        harness = OperatorHarness(window(CASES["session"].assigner, window_function=Describe()))
        for time in arrivals:
            harness.process(("a", time), time)
        harness.end_input()
        return harness.timed_outputs()

    shuffled = list(times)
    order.shuffle(shuffled)
    assert sessions(shuffled) == sessions(sorted(times))


def run(operation: Any, model: Model, steps: Any, is_sharing: bool = False) -> tuple[list[Any], list[Any]]:
    """Feeds the operator and the model the same input; returns results with their times first, and late records."""
    harness = open_harness(operation, is_sharing)
    watermark, number = -30, 0
    results: list[Any] = []
    late: list[Any] = []
    for batch, advance, is_restarting in steps:
        values = []
        for key, _ in batch:
            number += 1
            values.append((key, number))
        times = [time for _, time in batch]
        if values:
            harness.process_batch(values, times)
        for value, time in zip(values, times):
            model.record(value, time)
        watermark += advance
        harness.watermark(watermark)
        model.advance(watermark)
        results += harness.timed_outputs()
        late += harness.side_output(LATE)
        harness.end_epoch()
        if is_restarting:
            harness = open_harness(operation, is_sharing, harness.snapshot())
            harness.watermark(watermark)
            assert harness.timed_outputs() == []
    harness.end_input()
    model.advance((1 << 63) - 1)
    results += harness.timed_outputs()
    return [(time, *value) for value, time in results], late


def open_harness(operation: Any, is_sharing: bool, snapshot: bytes | None = None) -> OperatorHarness:
    harness = OperatorHarness(operation, side_outputs=(LATE,), restored=None if snapshot is None else [snapshot])
    if is_sharing:
        assert isinstance(harness.operator, SlidingWindowOperator)
        harness.operator._is_sharing = True
    return harness
