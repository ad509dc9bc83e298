"""Window join and coGroup: two streams in the same windows.

The rules are Flink's: a join yields every pair of a key and window, a coGroup gets both sides of every key and window
that has an element at all, and results carry the last timestamp of their window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.common.time import Time
from funke.engine.errors import GraphError
from funke.engine.graph.operations import WindowJoin
from funke.engine.operators.functions.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from funke.engine.operators.joins.tagged_union import TaggedUnion
from funke.engine.operators.joins.window_functions import CoGroupWindow, JoinWindow
from funke.engine.operators.windowing.assigner import SessionWindowTimeGapExtractor, WindowAssigner
from funke.engine.operators.windowing.assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.operators.windowing.evictor import CountEvictor
from funke.engine.operators.windowing.triggers import CountTrigger, PurgingTrigger
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

TEN_MS = TumblingEventTimeWindows.of(Time.milliseconds(10))


def first_letter(value: str) -> str:
    return value[0]


def last_letter(value: str) -> str:
    return value[-1]


def windowed(function: Any, assigner: WindowAssigner[Any, Any] = TEN_MS, **settings: Any) -> WindowJoin:
    return WindowJoin(
        assigner=assigner,
        trigger=settings.pop("trigger", None) or assigner.get_default_trigger(None),
        key_selector=first_letter,
        second_key_selector=last_letter,
        window_function=function,
        **settings,
    )


def joined(assigner: WindowAssigner[Any, Any] = TEN_MS, **settings: Any) -> WindowJoin:
    return windowed(JoinWindow(lambda left, right: (left, right)), assigner, **settings)


def co_grouped(assigner: WindowAssigner[Any, Any] = TEN_MS, **settings: Any) -> WindowJoin:
    return windowed(CoGroupWindow(lambda first, second: [(sorted(first), sorted(second))]), assigner, **settings)


def test_a_join_gives_all_pairs_of_a_key_and_window() -> None:
    check_stream_table(
        OperatorHarness(joined()),
        """
        'a1' @ 1       |
        2: '1a' @ 9    |
        'a2' @ 3       |
        2: '2a' @ 0    |
        'b1' @ 4       |
        2: '1c' @ 4    |
        2: '3a' @ 10   |
        watermark 8    | watermark 8
        watermark 9    | ('a1', '1a') @ 9; ('a1', '2a') @ 9; ('a2', '1a') @ 9; ('a2', '2a') @ 9; watermark 9
        'a3' @ 19      |
        end            | ('a3', '3a') @ 19; watermark max
        """,
    )


def test_a_co_group_gets_sides_without_elements() -> None:
    check_stream_table(
        OperatorHarness(co_grouped()),
        """
        'a1' @ 1       |
        2: '1a' @ 9    |
        'a2' @ 3       |
        'b1' @ 4       |
        2: '1c' @ 4    |
        watermark 9    | (['a1', 'a2'], ['1a']) @ 9; (['b1'], []) @ 9; ([], ['1c']) @ 9; watermark 9
        """,
    )


def test_windows_that_overlap_join_an_element_in_each() -> None:
    check_stream_table(
        OperatorHarness(joined(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))),
        """
        'a1' @ 6       |
        2: '1a' @ 3    |
        2: '2a' @ 12   |
        watermark 9    | ('a1', '1a') @ 9; watermark 9
        watermark 14   | ('a1', '2a') @ 14; watermark 14
        end            | watermark max
        """,
    )


def test_sessions_span_both_streams() -> None:
    """Elements of either stream keep a session of gap 5 alive: 0, 4 and 8 are one that ends at 13."""
    check_stream_table(
        OperatorHarness(co_grouped(EventTimeSessionWindows.with_gap(Time.milliseconds(5)))),
        """
        'a1' @ 0       |
        'a2' @ 8       |
        2: '1a' @ 4    |
        2: '2a' @ 20   |
        watermark 12   | (['a1', 'a2'], ['1a']) @ 12; watermark 12
        end            | ([], ['2a']) @ 24; watermark max
        """,
    )


class LongForTheFirst(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        assert isinstance(element, TaggedUnion)
        assert element.is_two() is not element.is_one()
        return 10 if element.is_one() else len(element.get_two())


def test_an_assigner_sees_which_stream_an_element_is_of() -> None:
    check_stream_table(
        OperatorHarness(co_grouped(DynamicEventTimeSessionWindows(LongForTheFirst()))),
        """
        'a1' @ 0       |
        2: '1a' @ 9    |
        2: '2a' @ 20   |
        watermark 10   | (['a1'], ['1a']) @ 10; watermark 10
        end            | ([], ['2a']) @ 21; watermark max
        """,
    )


def test_late_elements_within_the_allowed_lateness_join_again() -> None:
    """Flink evaluates the whole window again; what comes after end + lateness is dropped, and counted."""
    harness = OperatorHarness(joined(allowed_lateness_ms=5))
    check_stream_table(
        harness,
        """
        'a1' @ 1       |
        2: '1a' @ 2    |
        watermark 9    | ('a1', '1a') @ 9; watermark 9
        2: '2a' @ 3    | ('a1', '1a') @ 9; ('a1', '2a') @ 9
        watermark 13   | watermark 13
        'a2' @ 4       | ('a1', '1a') @ 9; ('a1', '2a') @ 9; ('a2', '1a') @ 9; ('a2', '2a') @ 9
        watermark 14   | watermark 14
        'a3' @ 5       |
        """,
    )
    assert harness.operator.metrics()["numLateRecordsDropped"] == 1


def test_a_trigger_counts_the_elements_of_both_streams() -> None:
    check_stream_table(
        OperatorHarness(co_grouped(trigger=PurgingTrigger.of(CountTrigger.of(3)))),
        """
        'a1' @ 1       |
        2: '1a' @ 2    |
        2: '2a' @ 3    | (['a1'], ['1a', '2a']) @ 9
        'a2' @ 4       |
        end            | watermark max
        """,
    )


def test_an_evictor_removes_elements_of_both_streams() -> None:
    check_stream_table(
        OperatorHarness(co_grouped(evictor=CountEvictor.of(2))),
        """
        'a1' @ 1       |
        2: '1a' @ 2    |
        'a2' @ 4       |
        end            | (['a2'], ['1a']) @ 9; watermark max
        """,
    )


def test_processing_time_windows_join_what_arrives_together() -> None:
    check_stream_table(
        OperatorHarness(joined(TumblingProcessingTimeWindows.of(Time.milliseconds(10)))),
        """
        time 1001   |
        'a1'        |
        2: '1a'     |
        time 1009   | ('a1', '1a') @ 1009
        2: '2a'     |
        time 1012   |
        'a2'        |
        time 1019   |
        """,
    )


class Joining(JoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.calls = ["open"]

    def join(self, first: Any, second: Any) -> Any:
        return None if first == "a0" else (self.calls[0], first, second)

    def close(self) -> None:
        self.calls[0] = "closed"


class FlatJoining(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterator[Any] | None:
        return iter(first) if first != "a0" else None


class Grouping(CoGroupFunction):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def co_group(self, first: Any, second: Any) -> Iterator[Any]:
        yield from first
        yield self.subtask
        yield from second


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (JoinWindow(Joining()), [None, ("open", "a1", "1a")]),
        (JoinWindow(FlatJoining()), ["a", "1"]),
        (CoGroupWindow(Grouping()), ["a0", "a1", 0, "1a"]),
        (CoGroupWindow(lambda first, second: None), []),
    ],
)
def test_function_objects(function: Any, expected: list[Any]) -> None:
    harness = OperatorHarness(windowed(function))
    harness.process_batch(["a0", "a1"], [1, 2])
    harness.process("1a", 3, input_index=1)
    harness.end_input()
    assert harness.outputs() == expected
    harness.close()
    if isinstance(function._function, Joining):
        assert function._function.calls == ["closed"]


def test_the_state_of_a_window_is_released_with_it() -> None:
    harness = OperatorHarness(joined())
    harness.process_batch([f"{letter}1" for letter in "abcdef"], [5] * 6)
    harness.process_batch([f"1{letter}" for letter in "abc"], [5] * 3, input_index=1)
    assert harness.operator.backend.snapshot() != {}
    harness.watermark(9)
    assert harness.operator.backend.snapshot() == {}
    assert len(harness.operator.timer_service.event_timers) == 0


def test_windows_survive_a_restart() -> None:
    harness = OperatorHarness(joined())
    harness.process("a1", 5)
    again = OperatorHarness(joined(), restored=[harness.snapshot()])
    again.process("1a", 6, input_index=1)
    again.watermark(9)
    assert again.timed_outputs() == [(("a1", "1a"), 9)]


def test_batch_mode_joins_key_by_key() -> None:
    harness = OperatorHarness(joined(), is_batch=True)
    harness.process_batch(["b1", "a1"], [5, 15])
    harness.watermark(1000)
    harness.process_batch(["1a", "1b", "2a"], [12, 3, 7], input_index=1)
    harness.end_input()
    assert harness.timed_outputs() == [(("a1", "1a"), 19), (("b1", "1b"), 9)]


def test_elements_without_timestamps_are_rejected() -> None:
    harness = OperatorHarness(joined())
    with pytest.raises(GraphError, match="needs elements with timestamps"):
        harness.process("1a", input_index=1)


_elements = some.lists(some.tuples(some.integers(0, 1), some.sampled_from("ab"), some.integers(-20, 40)), max_size=30)


@settings(max_examples=80)
@given(_elements, some.integers(1, 15), some.integers(1, 15))
def test_any_stream_gives_the_pairs_of_its_windows(elements: list[Any], size: int, slide: int) -> None:
    """Against all pairs of one key, counted once for every window that holds both."""
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))
    harness = OperatorHarness(joined(assigner))
    sides: tuple[list[Any], list[Any]] = ([], [])
    for number, (side, key, time) in enumerate(elements):
        value = f"{key}{number}" if side == 0 else f"{number}{key}"
        harness.process(value, time, side)
        sides[side].append((key, value, time))
    harness.end_input()
    expected: Counter[Any] = Counter()
    for (left_key, left, left_time), (right_key, right, right_time) in product(*sides):
        for start in range(-20 - size, 41):
            is_in = start <= left_time < start + size and start <= right_time < start + size
            if left_key == right_key and start % slide == 0 and is_in:
                expected[(left, right), start + size - 1] += 1
    assert Counter(harness.timed_outputs()) == expected
    assert harness.operator.backend.snapshot() == {}
