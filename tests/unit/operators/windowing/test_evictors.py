"""Evictors. PyFlink has none; the expected results follow from the rules of Flink's Java API, as each test explains."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Duration
from funke.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from funke.engine.errors import ConfigurationError
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table
from tests.unit.operators.windowing.window_operations import Describe, Elements, Numbers, SumAndCount, add, ms, window

EVERYTHING = GlobalWindows.create()
TEN = TumblingEventTimeWindows.of(ms(10))


def test_count_before_the_function_keeps_the_last_elements() -> None:
    """Fires every second element and keeps three: this is Flink's sliding count window of 3 by 2."""
    check_stream_table(
        OperatorHarness(window(EVERYTHING, CountTrigger.of(2), window_function=Numbers(), evictor=CountEvictor.of(3))),
        """
        ('a', 1)        |
        ('a', 2)        | ('a', [1, 2])
        ('a', 3)        |
        ('a', 4)        | ('a', [2, 3, 4])
        ('a', 5)        |
        ('a', 6)        | ('a', [4, 5, 6])
        """,
    )


def test_count_after_the_function_leaves_elements_for_the_next_firing() -> None:
    """The function sees everything; then only the last element stays."""
    check_stream_table(
        OperatorHarness(
            window(EVERYTHING, CountTrigger.of(2), window_function=Numbers(), evictor=CountEvictor.of(1, True))
        ),
        """
        ('a', 1)        |
        ('a', 2)        | ('a', [1, 2])
        ('a', 3)        |
        ('a', 4)        | ('a', [2, 3, 4])
        """,
    )


def test_time_keeps_what_is_newer_than_the_largest_timestamp_minus_the_time() -> None:
    """Largest timestamp 9, time 4: elements at or before 5 go."""
    check_stream_table(
        OperatorHarness(window(TEN, window_function=Numbers(), evictor=TimeEvictor.of(Duration.of_millis(4)))),
        """
        ('a', 1) @ 5    |
        ('a', 2) @ 9    |
        ('a', 3) @ 6    |
        ('a', 4) @ 0    |
        end             | ('a', [2, 3]) @ 9; watermark max
        """,
    )


def test_time_does_nothing_without_timestamps() -> None:
    harness = OperatorHarness(
        window(EVERYTHING, CountTrigger.of(2), window_function=Numbers(), evictor=TimeEvictor.of(ms(1)))
    )
    harness.process_batch([("a", 1), ("a", 2)])
    assert harness.outputs() == [("a", [1, 2])]


def test_delta_keeps_what_is_near_the_last_element() -> None:
    """The last element is 20; 9 and 30 are 10 or more away from it."""
    evictor = DeltaEvictor.of(10, lambda element, last: abs(element[1] - last[1]))
    harness = OperatorHarness(window(EVERYTHING, CountTrigger.of(4), window_function=Numbers(), evictor=evictor))
    harness.process_batch([("a", 9), ("a", 11), ("a", 30), ("a", 20)])
    assert harness.outputs() == [("a", [11, 20])]


class OddsBeforeSmallAfter(Evictor[Any, Any]):
    """Removes odd numbers before the function, and all but the largest after it."""

    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.value[1] % 2 == 0]

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        elements.sort(key=lambda element: element.value[1])
        del elements[:-1]
        assert ctx.get_current_watermark() < 0 <= ctx.get_current_processing_time()


def test_an_evictor_of_ones_own() -> None:
    check_stream_table(
        OperatorHarness(
            window(EVERYTHING, CountTrigger.of(3), window_function=Numbers(), evictor=OddsBeforeSmallAfter())
        ),
        """
        ('a', 4)        |
        ('a', 1)        |
        ('a', 2)        | ('a', [4, 2])
        ('a', 3)        |
        ('a', 8)        |
        ('a', 6)        | ('a', [4, 8, 6])
        """,
    )


def test_reduce_and_aggregate_combine_what_is_left() -> None:
    for combine, expected in (({"reduce": add}, ("a", 5)), ({"aggregate": SumAndCount()}, (5, 2))):
        harness = OperatorHarness(window(TEN, evictor=CountEvictor.of(2), **combine))
        harness.process_batch([("a", 1), ("a", 2), ("a", 3)], [1, 2, 3])
        harness.end_input()
        assert harness.outputs() == [expected]


def test_nothing_left() -> None:
    """The function is called with no elements; there is nothing to reduce; an accumulator of nothing has a result."""
    nothing = CountEvictor.of(0)
    for settings, expected in (
        ({"window_function": Numbers()}, [("a", [])]),
        ({"reduce": add}, []),
        ({"aggregate": SumAndCount(), "window_function": Elements()}, [("a", 0, [(0, 0)])]),
    ):
        harness = OperatorHarness(window(TEN, evictor=nothing, **settings))  # type: ignore[arg-type]
        harness.process(("a", 1), 1)
        harness.end_input()
        assert harness.outputs() == expected


def test_evictors_compose_with_purging_sessions_and_lateness() -> None:
    purging = PurgingTrigger.of(CountTrigger.of(2))
    harness = OperatorHarness(window(EVERYTHING, purging, window_function=Numbers(), evictor=CountEvictor.of(1)))
    harness.process_batch([("a", number) for number in range(1, 5)])
    assert harness.outputs() == [("a", [2]), ("a", [4])]
    check_stream_table(
        OperatorHarness(
            window(
                EventTimeSessionWindows.with_gap(ms(10)),
                window_function=Describe(),
                evictor=TimeEvictor.of(ms(6)),
                allowed_lateness_ms=20,
            )
        ),
        """
        ('a', 1) @ 0    |
        ('a', 2) @ 15   |
        ('a', 3) @ 10   |
        watermark 24    | ('a', 0, 25, [2, 3]) @ 24; watermark 24
        ('a', 4) @ 16   |
        end             | ('a', 0, 26, [2, 4]) @ 25; watermark max
        """,
    )


def test_elements_survive_a_restart() -> None:
    operation = window(TEN, window_function=Numbers(), evictor=TimeEvictor.of(ms(3)))
    harness = OperatorHarness(operation)
    harness.process_batch([("a", 1), ("a", 2)], [1, 4])
    again = OperatorHarness(operation, restored=[harness.snapshot()])
    again.process(("a", 3), 6)
    again.end_input()
    assert again.outputs() == [("a", [2, 3])]


def test_bad_settings() -> None:
    with pytest.raises(ConfigurationError, match="at least 0, got -1"):
        CountEvictor.of(-1)
    with pytest.raises(ConfigurationError, match="at least 0, got -5 ms"):
        TimeEvictor.of(ms(-5))
    with pytest.raises(TypeError, match="DeltaFunction or a callable, got int"):
        DeltaEvictor.of(1, 7)  # type: ignore[arg-type]
