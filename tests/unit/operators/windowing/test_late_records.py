"""Late records: what still counts, what fires again, and where the rest goes."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TumblingEventTimeWindows
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table
from tests.unit.operators.windowing.window_operations import Describe, SameAsDefault, add, ms, window

LATE = OutputTag("late")
both = pytest.mark.parametrize("trigger", [EventTimeTrigger(), SameAsDefault()], ids=["fast", "general"])


@both
@pytest.mark.parametrize(("lateness", "gone_at"), [(0, 4999), (1000, 5999)])
def test_a_window_is_forgotten_at_its_end_plus_the_lateness(trigger: Any, lateness: int, gone_at: int) -> None:
    """A window that ends at 5000 is forgotten when the watermark says that 5000 (or 6000 with 1 s) is next."""
    operation = window(TumblingEventTimeWindows.of(ms(5000)), trigger, reduce=add, allowed_lateness_ms=lateness)
    harness = OperatorHarness(operation)
    harness.process(("a", 1), 100)
    harness.watermark(gone_at - 1)
    harness.outputs()
    harness.process(("a", 2), 200)
    harness.watermark(gone_at)
    assert harness.outputs() == [("a", 3)], "it was still there"
    assert not harness.operator.backend.snapshot(), "its state is gone"  # type: ignore[attr-defined]
    harness.process(("a", 4), 300)
    harness.end_input()
    assert harness.outputs() == []
    assert harness.operator.metrics()["numLateRecordsDropped"] == 1


@both
def test_within_the_lateness_every_late_record_fires_the_window_again(trigger: Any) -> None:
    operation = window(
        TumblingEventTimeWindows.of(ms(10)),
        trigger,
        window_function=Describe(),
        allowed_lateness_ms=5,
        late_tag=LATE,
    )
    harness = OperatorHarness(operation, side_outputs=(LATE,))
    check_stream_table(
        harness,
        """
        ('a', 1) @ 1    |
        watermark 9     | ('a', 0, 10, [1]) @ 9; watermark 9
        ('a', 2) @ 4    | ('a', 0, 10, [1, 2]) @ 4
        ('b', 3) @ 5    | ('b', 0, 10, [3]) @ 5
        watermark 13    | watermark 13
        ('a', 4) @ 6    | ('a', 0, 10, [1, 2, 4]) @ 6
        watermark 14    | watermark 14
        ('a', 5) @ 7    | [late] ('a', 5) @ 7
        ('a', 6) @ 12   |
        end             | ('a', 10, 20, [6]) @ 19; watermark max
        """,
    )
    assert harness.operator.metrics()["numLateRecordsDropped"] == 0


@both
def test_a_late_record_that_touches_an_open_session_joins_it(trigger: Any) -> None:
    operation = window(EventTimeSessionWindows.with_gap(ms(10)), trigger, window_function=Describe(), late_tag=LATE)
    check_stream_table(
        OperatorHarness(operation, side_outputs=(LATE,)),
        """
        ('a', 1) @ 20   |
        watermark 25    | watermark 25
        ('a', 2) @ 10   |
        ('a', 3) @ 0    |
        ('b', 4) @ 15   | [late] ('b', 4) @ 15
        end             | ('a', 0, 30, [1, 2, 3]) @ 29; watermark max
        """,
    )


@both
def test_a_late_record_between_a_fired_and_an_open_session_makes_them_one(trigger: Any) -> None:
    operation = window(
        EventTimeSessionWindows.with_gap(ms(10)), trigger, window_function=Describe(), allowed_lateness_ms=50
    )
    check_stream_table(
        OperatorHarness(operation),
        """
        ('a', 1) @ 0    |
        ('a', 2) @ 15   |
        watermark 12    | ('a', 0, 10, [1]) @ 9; watermark 12
        ('a', 3) @ 8    |
        watermark 24    | ('a', 0, 25, [1, 2, 3]) @ 24; watermark 24
        ('a', 4) @ 3    | ('a', 0, 25, [1, 2, 3, 4]) @ 3
        end             | watermark max
        """,
    )


@both
def test_late_records_that_nobody_reads_are_not_in_the_main_output(trigger: Any) -> None:
    harness = OperatorHarness(window(TumblingEventTimeWindows.of(ms(10)), trigger, reduce=add, late_tag=LATE))
    harness.watermark(50)
    harness.process(("a", 1), 1)
    harness.end_input()
    assert harness.outputs() == []


@both
def test_a_restart_does_not_repeat_firings(trigger: Any) -> None:
    operation = window(TumblingEventTimeWindows.of(ms(10)), trigger, window_function=Describe(), allowed_lateness_ms=20)
    harness = OperatorHarness(operation)
    harness.process_batch([("a", 1), ("b", 2)], [1, 2])
    harness.watermark(9)
    harness.process(("c", 3), 11)
    harness.outputs()
    check_stream_table(
        OperatorHarness(operation, restored=[harness.snapshot()]),
        """
        ('a', 4) @ 3    |
        watermark 9     | ('a', 0, 10, [1, 4]) @ 9; watermark 9
        ('b', 5) @ 4    | ('b', 0, 10, [2, 5]) @ 4
        end             | ('c', 10, 20, [3]) @ 19; watermark max
        """,
    )
