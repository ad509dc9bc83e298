"""Running reduce: a result for every record."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Types
from funke.engine.graph.operations import Reduce
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types import Row
from funke.engine.types.functions import ReduceFunction
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table


def first(value: Any) -> Any:
    return value[0]


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


class Adding(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return add(value1, value2)


@pytest.mark.parametrize("function", [add, Adding()], ids=["callable", "object"])
def test_every_record_yields_the_value_of_its_key_so_far(function: Any) -> None:
    check_stream_table(
        OperatorHarness(Reduce(function, first)),
        """
        ('a', 1) @ 10   | ('a', 1) @ 10
        ('b', 5) @ 11   | ('b', 5) @ 11
        ('a', 2) @ 9    | ('a', 3) @ 9
        ('a', 3)        | ('a', 6)
        end             | watermark max
        """,
    )


def test_a_function_that_changes_its_argument_does_not_change_earlier_results() -> None:
    def add_and_mutate(left: Any, right: Any) -> Any:
        left["n"] += right["n"]
        return left

    harness = OperatorHarness(Reduce(add_and_mutate, lambda value: value["key"]))
    harness.process_batch([{"key": "a", "n": number} for number in (1, 2, 3)])
    assert [value["n"] for value in harness.outputs()] == [1, 3, 6]

    def add_rows(left: Row, right: Row) -> Row:
        left[1] += right[1]
        return left

    harness = OperatorHarness(Reduce(add_rows, first))
    harness.process_batch([Row("a", 1), Row("a", 2), Row("b", 7), Row("a", 3)])
    assert harness.outputs() == [Row("a", 1), Row("a", 3), Row("b", 7), Row("a", 6)]


def test_a_result_of_none_starts_anew() -> None:
    harness = OperatorHarness(Reduce(lambda left, right: None if right == 0 else left + right, lambda value: 1))
    harness.process_batch([1, 2, 0, 5, 6])
    assert harness.outputs() == [1, 3, None, 5, 11]


def test_values_survive_a_restart() -> None:
    harness = OperatorHarness(Reduce(add, first))
    harness.process(("a", 1))
    again = OperatorHarness(Reduce(add, first), restored=[harness.snapshot()])
    again.process(("a", 2))
    assert again.outputs() == [("a", 3)]


def test_the_fast_loop_gives_the_same_results() -> None:
    many = [("a", 1)] * (ResultGuard.TRIAL + 10)
    harness = OperatorHarness(Reduce(add, first))
    harness.process_batch(many)
    harness.process_batch(many)
    assert not harness.operator.guard.is_careful  # type: ignore[attr-defined]
    assert [value[1] for value in harness.outputs()] == list(range(1, 2 * len(many) + 1))


class Counting(ReduceFunction):
    """Counts its calls in a state of its own."""

    def open(self, runtime_context: Any) -> None:
        self._calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.INT()))

    def reduce(self, value1: Any, value2: Any) -> Any:
        self._calls.update((self._calls.value() or 0) + 1)
        return value1[0], self._calls.value()


def test_state_of_the_function_belongs_to_the_key() -> None:
    harness = OperatorHarness(Reduce(Counting(), first))
    harness.process_batch([("a", 0), ("c", 0), ("c", 0), ("a", 0), ("c", 0)])
    harness.process(("a", 0))
    assert harness.outputs() == [("a", 0), ("c", 0), ("c", 1), ("a", 1), ("c", 2), ("a", 2)]
