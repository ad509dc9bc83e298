"""When sliding windows share what they combine, and when they must not."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.functions import ProcessWindowFunction
from funke.datastream.window import SlidingEventTimeWindows
from funke.engine.operators.windowing.fast.merge_probe import can_share_aggregate, can_share_reduce, sample_of_one_key
from funke.engine.operators.windowing.fast.pane_stack import PaneStack
from funke.engine.operators.windowing.fast.sliding_windows import SlidingWindowOperator
from funke.engine.types import Row
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import SumAndCount, add, ms, window

SAMPLE = [("a", 3), ("a", 1), ("a", 2), ("a", 5)]
SLIDING = SlidingEventTimeWindows.of(ms(12), ms(3))


class NeverMerged(SumAndCount):
    """As many programs have it: merge is only called for sessions, so nobody wrote it."""

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return None


class Collect(SumAndCount):
    """A list that grows in place: sharing it would let one window change another."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value[1])
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Latest(SumAndCount):
    """Depends on the order of arrival."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return value[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


@pytest.mark.parametrize(
    ("reduce", "is_shared"),
    [
        (add, True),
        (max, True),
        (lambda left, right: (left[0], left[1] + right[1] / 3), False),
        (lambda left, right: right, False),
        (lambda left, right: (left[0], left[1] - right[1]), False),
        (lambda left, right: 1 / 0, False),
    ],
)
def test_reduce_functions_that_do_not_care_about_the_order(reduce: Any, is_shared: bool) -> None:
    assert can_share_reduce(reduce, SAMPLE) is is_shared


def test_mutable_values_are_not_shared() -> None:
    assert not can_share_reduce(lambda left, right: left, [Row("a", 1), Row("a", 2), Row("a", 3)])


@pytest.mark.parametrize(
    ("function", "is_shared"), [(SumAndCount(), True), (NeverMerged(), False), (Collect(), False), (Latest(), False)]
)
def test_accumulators_that_merge(function: Any, is_shared: bool) -> None:
    assert can_share_aggregate(function, SAMPLE) is is_shared


def test_the_sample_is_of_one_key_and_shows_something() -> None:
    assert sample_of_one_key(["a", "b", "a", "a"], [1, 2, 3, 4]) == [1, 3, 4]
    assert sample_of_one_key(["a", "b"], [1, 2]) is None
    assert sample_of_one_key(["a", "a", "a"], [7, 7, 7]) is None


def test_float_sums_count_as_equal_whatever_their_last_digit() -> None:
    assert can_share_reduce(lambda left, right: left + right, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(("function", "is_shared"), [(SumAndCount(), True), (Latest(), False), (Collect(), False)])
def test_the_operator_finds_out_by_itself_and_results_are_the_same(function: Any, is_shared: bool) -> None:
    def run(batches: list[list[Any]]) -> tuple[Any, list[Any]]:
        harness = OperatorHarness(window(SLIDING, aggregate=function))
        for batch in batches:
            harness.process_batch(batch, [value[1] for value in batch])
            harness.watermark(max(value[1] for value in batch) - 4)
        harness.end_input()
        return harness.operator, sorted(harness.timed_outputs(), key=str)

    records = [("ab"[number % 2], number) for number in range(40)]
    one_by_one, expected = run([[record] for record in records])
    operator, results = run([records[start : start + 8] for start in range(0, 40, 8)])
    assert isinstance(operator, SlidingWindowOperator)
    assert isinstance(one_by_one, SlidingWindowOperator)
    assert (one_by_one._is_sharing, operator._is_sharing) == (None, is_shared)
    assert results == expected


def test_a_function_with_clear_is_called_for_every_key() -> None:
    cleared = []

    class Clearing(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield from elements

        def clear(self, context: Any) -> None:
            cleared.append(context.window().start)

    harness = OperatorHarness(window(SLIDING, aggregate=SumAndCount(), window_function=Clearing()))
    harness.process_batch(SAMPLE, [1, 1, 1, 1])
    harness.end_input()
    assert cleared == [-9, -6, -3, 0]


def test_the_number_of_merges_does_not_grow_with_the_number_of_panes() -> None:
    for panes in (4, 64):
        merges = []
        stack = PaneStack(lambda left, right: merges.append(1) or left + right)  # noqa: B023
        for end in range(panes, panes + 1000):
            stack.open(end - 1)["a"] = 1
            assert stack.combined(end - panes, end)["a"] == min(panes, end - panes + 1)
        assert len(merges) < 3.1 * 1000
