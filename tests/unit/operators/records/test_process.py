"""Process functions on streams without keys: timestamps, clocks, side outputs."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.graph.operations import Process
from funke.engine.operators.functions.process_functions import ProcessFunction
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.types import Row, Types
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.watermark_spec import NO_TIMESTAMP
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

LATE = OutputTag("late")
SMALL = OutputTag("small", Types.SHORT())


class Telling(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        service = ctx.timer_service()
        yield value, ctx.timestamp(), service.current_watermark(), service.current_processing_time()


def test_a_process_function_sees_timestamp_watermark_and_clock() -> None:
    check_stream_table(
        OperatorHarness(Process(Telling())),
        """
        'a'            | ('a', NO_TIMESTAMP, MIN, 0)
        'b' @ 5        | ('b', 5, MIN, 0) @ 5
        watermark 4    | watermark 4
        time 70        |
        'c' @ 6        | ('c', 6, 4, 70) @ 6
        """,
        {"NO_TIMESTAMP": NO_TIMESTAMP, "MIN": MIN_WATERMARK},
    )


@pytest.mark.parametrize("action", ["register_event_time_timer", "register_processing_time_timer"])
def test_timers_need_a_keyed_stream(action: str) -> None:
    class Registering(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            getattr(ctx.timer_service(), action)(5)

    with pytest.raises(StateError, match="Register timers is only supported on a keyed stream"):
        OperatorHarness(Process(Registering())).process(1)


@pytest.mark.parametrize("action", ["delete_event_time_timer", "delete_processing_time_timer"])
def test_deleting_timers_needs_a_keyed_stream(action: str) -> None:
    class Deleting(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            getattr(ctx.timer_service(), action)(5)

    with pytest.raises(StateError, match="Deleting timers is only supported on a keyed stream"):
        OperatorHarness(Process(Deleting())).process(1)


class Routing(ProcessFunction):
    """Numbers below 10 go to one side output, odd ones to another."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value < 10:
            yield SMALL, value
        if value % 2:
            yield LATE, ("odd", value)
        yield value


def test_side_outputs() -> None:
    harness = OperatorHarness(Process(Routing()), side_outputs=(SMALL, LATE))
    check_stream_table(
        harness,
        """
        20 @ 1  | 20 @ 1
        3 @ 2   | 3 @ 2; [small] 3 @ 2; [late] ('odd', 3) @ 2
        21      | 21; [late] ('odd', 21)
        """,
    )


def test_watermarks_reach_side_outputs_too() -> None:
    harness = OperatorHarness(Process(Routing()), side_outputs=(SMALL,))
    harness.watermark(5)
    assert [element.timestamp for element in harness.sides["small"].elements] == [5]


def test_a_side_output_has_the_type_of_its_tag() -> None:
    harness = OperatorHarness(Process(Routing()), side_outputs=(SMALL, LATE))
    harness.process(-43878)
    assert harness.side_output(SMALL) == [21658]


def test_a_side_output_that_nobody_reads_is_dropped() -> None:
    harness = OperatorHarness(Process(Routing()), side_outputs=(SMALL,))
    harness.process(3)
    assert (harness.outputs(), harness.side_output(SMALL)) == ([3], [3])


def test_without_readers_of_side_outputs_a_tagged_pair_is_a_record() -> None:
    # PyFlink looks for tags only when a side output of the operator is read.
    harness = OperatorHarness(Process(Routing()))
    harness.process(3)
    assert harness.outputs() == [(SMALL, 3), (LATE, ("odd", 3)), 3]


def test_side_outputs_are_found_however_late_they_come() -> None:
    harness = OperatorHarness(Process(Routing()), side_outputs=(SMALL, LATE))
    harness.process_batch([20] * (ResultGuard.TRIAL * 2))
    harness.process_batch([20] * 1000 + [4])
    assert harness.side_output(SMALL) == [4]


class Repeating(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value] * (value % 3) if value % 5 else None


@pytest.mark.parametrize("has_timestamps", [True, False])
def test_the_fast_loops_give_the_same_results_as_the_careful_one(has_timestamps: bool) -> None:
    many = list(range(ResultGuard.TRIAL * 2))
    harness = OperatorHarness(Process(Repeating()))
    harness.process_batch(many, many if has_timestamps else None)
    careful = harness.elements()
    assert not harness.operator.guard.is_careful  # type: ignore[attr-defined]
    harness.process_batch(many, many if has_timestamps else None)
    assert harness.elements() == careful
    assert [record.value for record in careful] == [value for value in many for _ in range(value % 3) if value % 5]


def test_a_record_that_is_passed_on_and_kept_does_not_change_behind_the_receivers_back() -> None:
    class Keeping(ProcessFunction):
        def __init__(self) -> None:
            self.last = Row(0)

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.last[0] = -1
            self.last = value
            yield value

    harness = OperatorHarness(Process(Keeping()))
    harness.process_batch([Row(1), Row(2), Row(3)])
    assert harness.outputs() == [Row(1), Row(2), Row(3)]
