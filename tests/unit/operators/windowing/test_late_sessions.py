"""Session windows with allowed lateness: the fast operator does what the general one does, also across restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.datastream.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from funke.engine.operators.windowing.fast.late_session_windows import LateSessionWindowOperator
from funke.engine.operators.windowing.window_operator import WindowOperator
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.unit.operators.windowing.window_operations import Describe, SameAsDefault, SumAndCount, add, ms, window

LATE = OutputTag("late")


class NumberAsGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 1 + int(element[1]) % 7


ASSIGNERS: list[WindowAssigner[Any, Any]] = [
    EventTimeSessionWindows.with_gap(ms(4)),
    DynamicEventTimeSessionWindows.with_dynamic_gap(NumberAsGap()),
]
WAYS: list[dict[str, Any]] = [{"window_function": Describe()}, {"reduce": add}, {"aggregate": SumAndCount()}]
# A batch of (key, number, time), how far the watermark goes behind it, and whether a restart follows.
STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(0, 40)), max_size=6),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=12,
)
Steps = list[tuple[list[Any], int, bool]]


def run(operations: list[Any], steps: Steps) -> tuple[list[Any], list[Any]]:
    """Results and late records; a restart goes on with the next operation, from the same watermark."""
    turn, watermark = 0, 0
    harness = OperatorHarness(operations[0], side_outputs=(LATE,))
    results: list[Any] = []
    late: list[Any] = []
    for records, step, is_restarted in steps:
        harness.process_batch([record[:2] for record in records], [record[2] for record in records])
        watermark += step
        harness.watermark(watermark)
        harness.end_epoch()
        results += _sorted(harness.timed_outputs())
        late += harness.side_output(LATE)
        if is_restarted:
            turn += 1
            snapshot = harness.snapshot()
            harness = OperatorHarness(operations[turn % len(operations)], side_outputs=(LATE,), restored=[snapshot])
            harness.watermark(watermark)
    harness.end_input()
    return results + _sorted(harness.timed_outputs()), late + harness.side_output(LATE)


def _sorted(results: list[Any]) -> list[Any]:
    """Windows of several keys that end together fire in any order."""
    return sorted(results, key=lambda pair: (pair[1], repr(pair[0])))


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
@pytest.mark.parametrize("way", WAYS, ids="+".join)
@pytest.mark.parametrize("lateness", [1, 5, 30])
@settings(max_examples=40)
@given(steps=STEPS)
def test_fast_and_general_operator_agree(
    assigner: WindowAssigner[Any, Any], way: dict[str, Any], lateness: int, steps: Steps
) -> None:
    common = {**way, "allowed_lateness_ms": lateness, "late_tag": LATE}
    general, fast = window(assigner, SameAsDefault(), **common), window(assigner, **common)
    expected = run([general], steps)
    assert run([fast], steps) == expected
    assert run([fast, general], steps) == expected, "a restart may change the operator"


def test_which_operator_runs_what() -> None:
    common = {"reduce": add, "allowed_lateness_ms": 5}
    assert isinstance(OperatorHarness(window(ASSIGNERS[0], **common)).operator, LateSessionWindowOperator)
    assert type(OperatorHarness(window(ASSIGNERS[0], SameAsDefault(), **common)).operator) is WindowOperator


def test_a_late_element_fires_its_session_again_and_may_prolong_it() -> None:
    """Gap 4, lateness 10: [0, 4) fires at 3; an element at 2 makes it [0, 6), over at watermark 5: it fires at once.

    An element at 5 prolongs it to [0, 9): it fires when the watermark reaches 8. At 18 its lateness is over.
    """
    operation = window(ASSIGNERS[0], window_function=Describe(), allowed_lateness_ms=10, late_tag=LATE)
    harness = OperatorHarness(operation, side_outputs=(LATE,))
    harness.process(("a", 1), 0)
    harness.watermark(5)
    assert harness.timed_outputs() == [(("a", 0, 4, [1]), 3)]
    harness.process(("a", 2), 2)
    assert harness.timed_outputs() == [(("a", 0, 6, [1, 2]), 2)]
    harness.process(("a", 3), 5)
    assert harness.timed_outputs() == []
    harness.watermark(8)
    assert harness.timed_outputs() == [(("a", 0, 9, [1, 2, 3]), 8)]
    harness.watermark(17)
    harness.process(("a", 4), 0)
    assert harness.timed_outputs() == [(("a", 0, 9, [1, 2, 3, 4]), 0)]
    harness.watermark(18)
    harness.process(("a", 5), 0)
    assert harness.timed_outputs() == []
    assert harness.side_output(LATE) == [("a", 5)]
