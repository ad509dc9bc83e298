"""Interval join: which elements make a pair, which are late, and how long they are kept.

Every table joins with bounds around the left element; results are (left, right) and carry the later timestamp. The
rules are those of Flink's operator: an element is late when its timestamp is before the watermark; a left element is
forgotten when the watermark reaches its timestamp plus the upper bound, a right one at its timestamp minus the lower
bound, neither before its own timestamp as far as anybody can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.errors import GraphError
from funke.engine.graph.operations import IntervalJoin
from funke.engine.operators.functions.join_functions import ProcessJoinFunction
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types import Types
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

LEFT_LATE = OutputTag("left_late")
RIGHT_LATE = OutputTag("right_late")


def first_letter(value: str) -> str:
    return value[0]


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        assert ctx.get_timestamp() == max(ctx.get_left_timestamp(), ctx.get_right_timestamp())
        yield left, right


def joined(lower: int, upper: int, function: Any = None, **late_tags: OutputTag) -> IntervalJoin:
    return IntervalJoin(function or Pair(), (first_letter, first_letter), lower, upper, **late_tags)


def kept(harness: OperatorHarness) -> dict[str, dict[Any, list[int]]]:
    """The timestamps in both buffers, by key, as a snapshot has them."""
    sides: dict[str, dict[Any, list[int]]] = {}
    for part in harness.operator.backend.snapshot().values():
        for (name, *_), table in part.items():
            for key, (timestamps, _) in table.items():
                sides.setdefault(name.strip("_").removesuffix("_buffer"), {})[key] = timestamps
    return sides


def test_both_bounds_are_inclusive() -> None:
    check_stream_table(
        OperatorHarness(joined(-2, 1)),
        """
        'a' @ 10        |
        2: 'a7' @ 7     |
        2: 'a8' @ 8     | ('a', 'a8') @ 10
        2: 'a11' @ 11   | ('a', 'a11') @ 11
        2: 'a12' @ 12   |
        2: 'b10' @ 10   |
        """,
    )


def test_the_order_of_arrival_does_not_matter() -> None:
    check_stream_table(
        OperatorHarness(joined(-2, 1)),
        """
        2: 'a7' @ 7     |
        2: 'a12' @ 12   |
        2: 'a8' @ 8     |
        2: 'a11' @ 11   |
        2: 'a8+' @ 8    |
        'a' @ 10        | ('a', 'a8') @ 10; ('a', 'a8+') @ 10; ('a', 'a11') @ 11
        'a9' @ 9        | ('a9', 'a7') @ 9; ('a9', 'a8') @ 9; ('a9', 'a8+') @ 9
        """,
    )


def test_an_interval_after_the_left_element() -> None:
    check_stream_table(
        OperatorHarness(joined(2, 3)),
        """
        'a' @ 10        |
        2: 'a11' @ 11   |
        2: 'a12' @ 12   | ('a', 'a12') @ 12
        2: 'a13' @ 13   | ('a', 'a13') @ 13
        2: 'a14' @ 14   |
        """,
    )


def test_an_interval_before_the_left_element() -> None:
    check_stream_table(
        OperatorHarness(joined(-3, -2)),
        """
        2: 'a6' @ 6     |
        2: 'a7' @ 7     |
        'a' @ 10        | ('a', 'a7') @ 10
        2: 'a8' @ 8     | ('a', 'a8') @ 10
        2: 'a9' @ 9     |
        """,
    )


def test_an_interval_that_two_exclusive_bounds_left_empty() -> None:
    check_stream_table(
        OperatorHarness(joined(1, -1)),
        """
        'a' @ 10        |
        2: 'a10' @ 10   |
        2: 'a11' @ 11   |
        end             | watermark max
        """,
    )


def test_late_elements_are_dropped_and_counted() -> None:
    """Late is what is before the watermark; at the watermark is in time."""
    harness = OperatorHarness(joined(-10, 10))
    check_stream_table(
        harness,
        """
        'a' @ 10        |
        watermark 10    | watermark 10
        2: 'a9' @ 9     |
        2: 'a10' @ 10   | ('a', 'a10') @ 10
        'a8' @ 8        |
        """,
    )
    assert harness.operator.metrics()["numLateRecordsDropped"] == 2


def test_late_elements_go_to_their_side_outputs() -> None:
    harness = OperatorHarness(
        joined(-10, 10, left_late_tag=LEFT_LATE, right_late_tag=RIGHT_LATE), side_outputs=(LEFT_LATE, RIGHT_LATE)
    )
    check_stream_table(
        harness,
        """
        'a' @ 10        |
        watermark 10    | watermark 10
        2: 'a9' @ 9     | [right_late] 'a9' @ 9
        2: 'a10' @ 10   | ('a', 'a10') @ 10
        'a8' @ 8        | [left_late] 'a8' @ 8
        """,
    )
    assert harness.operator.metrics()["numLateRecordsDropped"] == 0


def test_late_records_in_the_middle_of_a_batch() -> None:
    tag = OutputTag("left_late", Types.STRING())
    harness = OperatorHarness(joined(0, 0, left_late_tag=tag), side_outputs=(tag,))
    harness.watermark(10)
    harness.process_batch(["a10", "a11"], [10, 11], input_index=1)
    harness.process_batch(["a11", "a9", "a10"], [11, 9, 10])
    assert harness.timed_outputs() == [(("a11", "a11"), 11), (("a10", "a10"), 10)]
    assert harness.side_output(tag) == ["a9"]


def test_a_left_element_is_forgotten_when_the_watermark_reaches_its_last_match() -> None:
    """Flink's edge: at watermark 13 a right element of time 13 is not late, but its partner has just gone."""
    harness = OperatorHarness(joined(-2, 3))
    check_stream_table(
        harness,
        """
        'a' @ 10        |
        watermark 12    | watermark 12
        2: 'a13' @ 13   | ('a', 'a13') @ 13
        watermark 13    | watermark 13
        2: 'a13' @ 13   |
        """,
    )
    assert kept(harness) == {"right": {"a": [13, 13]}}


def test_a_right_element_is_forgotten_when_the_watermark_reaches_its_last_match() -> None:
    harness = OperatorHarness(joined(-2, 3))
    check_stream_table(
        harness,
        """
        2: 'a' @ 10     |
        watermark 11    | watermark 11
        'a12' @ 12      | ('a12', 'a') @ 12
        watermark 12    | watermark 12
        'a12' @ 12      |
        """,
    )
    assert kept(harness) == {"left": {"a": [12, 12]}}


def test_elements_at_the_watermark_meet_until_it_moves_on() -> None:
    harness = OperatorHarness(joined(0, 0))
    check_stream_table(
        harness,
        """
        watermark 5     | watermark 5
        'a' @ 5         |
        2: 'A' @ 5      |
        2: 'a5' @ 5     | ('a', 'a5') @ 5
        watermark 6     | watermark 6
        """,
    )
    assert kept(harness) == {}


def test_what_can_only_match_late_elements_is_not_kept() -> None:
    """With matches 3 to 2 ms earlier, a left element of time 10 waits for right ones up to time 8 and no longer."""
    harness = OperatorHarness(joined(-3, -2))
    check_stream_table(
        harness,
        """
        'a' @ 10        |
        'a9' @ 9        |
        watermark 8     | watermark 8
        2: 'a8' @ 8     | ('a', 'a8') @ 10
        'b9' @ 9        |
        'b' @ 10        |
        """,
    )
    assert kept(harness) == {"left": {"a": [10], "b": [10]}, "right": {"a": [8]}}
    harness.watermark(9)
    assert kept(harness) == {"right": {"a": [8]}}
    harness.watermark(11)
    assert kept(harness) == {}


def test_elements_go_one_after_the_other_and_leave_no_timer() -> None:
    harness = OperatorHarness(joined(-5, 5))
    harness.process_batch(["a", "a", "a", "b"], [20, 10, 15, 12])
    harness.process_batch(["a", "a"], [11, 30], input_index=1)
    assert kept(harness) == {"left": {"a": [10, 15, 20], "b": [12]}, "right": {"a": [11, 30]}}
    harness.watermark(15)
    assert kept(harness) == {"left": {"a": [15, 20], "b": [12]}, "right": {"a": [11, 30]}}
    harness.watermark(20)
    assert kept(harness) == {"left": {"a": [20]}, "right": {"a": [30]}}
    harness.watermark(MAX_WATERMARK)
    assert kept(harness) == {}
    assert len(harness.operator.timer_service.event_timers) == 0


def test_a_long_stream_keeps_only_the_interval() -> None:
    harness = OperatorHarness(joined(-50, 50))
    for start in range(0, 10_000, 100):
        times = list(range(start, start + 100))
        for index in (0, 1):
            harness.process_batch([f"{time % 7}" for time in times], times, input_index=index)
        harness.watermark(start + 99)
        assert sum(map(len, kept(harness)["left"].values())) == 50
        assert len(harness.operator.timer_service.event_timers) <= 14


def test_elements_without_timestamps_are_rejected() -> None:
    harness = OperatorHarness(joined(-5, 5))
    with pytest.raises(GraphError, match="interval_join\\(\\) needs elements with timestamps; call assign_timestamps"):
        harness.process("a")


def test_buffers_and_timers_survive_a_restart() -> None:
    harness = OperatorHarness(joined(-5, 5))
    harness.process_batch(["a", "b", "a"], [10, 11, 12])
    harness.process("b", 30, input_index=1)
    again = OperatorHarness(joined(-5, 5), restored=[harness.snapshot()])
    again.process("a+", 7, input_index=1)
    assert again.timed_outputs() == [(("a", "a+"), 10), (("a", "a+"), 12)]
    again.watermark(16)
    assert kept(again) == {"left": {"a": [12]}, "right": {"b": [30]}}


def test_a_key_goes_to_one_subtask_after_a_change_of_parallelism() -> None:
    harness = OperatorHarness(joined(-5, 5))
    harness.process_batch(list("abcdefgh"), [10] * 8)
    halves = [
        OperatorHarness(joined(-5, 5), restored=[harness.snapshot()], parallelism=2, subtask=subtask)
        for subtask in (0, 1)
    ]
    results = [kept(half).get("left", {}) for half in halves]
    assert sorted([*results[0], *results[1]]) == list("abcdefgh")
    for half in halves:
        half.watermark(15)
        assert kept(half) == {}


def test_keys_that_a_dict_cannot_tell_apart() -> None:
    operation = IntervalJoin(Pair(), (lambda value: value[0], lambda value: value[0]), -1, 1)
    harness = OperatorHarness(operation)
    harness.process_batch([(1, "int"), (True, "bool"), ([1], "list"), (None, "none")], [5, 5, 5, 5])
    harness.process_batch([(True, "x"), ([1], "y"), (1, "z"), (None, "n")], [5, 5, 5, 5], input_index=1)
    assert [(left[1], right[1]) for left, right in harness.outputs()] == [
        ("bool", "x"),
        ("list", "y"),
        ("int", "z"),
        ("none", "n"),
    ]


class Chatty(ProcessJoinFunction):
    """Any number of results per pair, to any output, and state of the key."""

    tag = OutputTag("odd")

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 2:
            return [(self.tag, (left, ctx.get_left_timestamp(), ctx.get_right_timestamp()))]
        return None if count == 4 else [count, right]


def test_a_function_with_state_and_side_outputs() -> None:
    check_stream_table(
        OperatorHarness(joined(0, 9, Chatty()), side_outputs=(Chatty.tag,)),
        """
        'a' @ 1     |
        'b' @ 1     |
        2: 'a' @ 2  | [odd] ('a', 1, 2) @ 2
        2: 'a' @ 3  | 2 @ 3; 'a' @ 3
        2: 'b' @ 3  | [odd] ('b', 1, 3) @ 3
        2: 'a' @ 4  | [odd] ('a', 1, 4) @ 4
        2: 'a' @ 5  |
        """,
    )


class Growing(ProcessJoinFunction):
    """Emits the same list again and again, longer each time."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        self.seen.append(right)
        return [self.seen]


def test_results_are_what_they_were_when_emitted() -> None:
    harness = OperatorHarness(joined(0, 9, Growing()))
    harness.process("a", 1)
    harness.process_batch(["a1", "a2"], [2, 2], input_index=1)
    assert harness.outputs() == [["a1"], ["a1", "a2"]]


def test_batch_mode_joins_key_by_key_and_nothing_is_late() -> None:
    harness = OperatorHarness(joined(-2, 2), is_batch=True)
    harness.process_batch(["b", "a", "a2"], [9, 5, 3])
    harness.watermark(100)
    harness.process_batch(["a", "b"], [4, 20], input_index=1)
    assert harness.outputs() == []
    harness.end_input()
    assert harness.timed_outputs() == [(("a2", "a"), 4), (("a", "a"), 5)]


_times = some.integers(0, 30)
_steps = some.lists(
    some.one_of(
        some.tuples(some.just("record"), some.integers(0, 1), some.sampled_from("ab"), _times),
        some.tuples(some.just("watermark"), some.just(0), some.just(""), _times),
    ),
    max_size=40,
)


@settings(max_examples=150)
@given(_steps, some.integers(-6, 6), some.integers(0, 8))
def test_any_stream_gives_the_pairs_of_flinks_rules(steps: list[Any], lower: int, width: int) -> None:
    """Against the rules applied to all elements that ever came, each with the watermark at its arrival."""
    upper = lower + width
    harness = OperatorHarness(joined(lower, upper))
    watermark = -1
    arrived: list[tuple[int, str, int, str]] = []
    expected: Counter[Any] = Counter()
    for number, (kind, side, key, time) in enumerate(steps):
        if kind == "watermark":
            if time > watermark:
                watermark = time
                harness.watermark(time)
                # Flink's timers: the side's own upper bound, or 0 if that is negative, after the timestamp.
                arrived = [each for each in arrived if each[2] + max(upper if each[0] == 0 else -lower, 0) > watermark]
            continue
        value = f"{key}{number}"
        harness.process(value, time, side)
        if time < watermark:
            continue
        for other_side, other_key, other_time, other in arrived:
            distance = time - other_time if side == 1 else other_time - time
            if other_side != side and other_key == key and lower <= distance <= upper:
                pair = (other, value) if side == 1 else (value, other)
                expected[pair, max(time, other_time)] += 1
        arrived.append((side, key, time, value))
    assert Counter(harness.timed_outputs()) == expected
    harness.end_input()
    assert kept(harness) == {}
    assert len(harness.operator.timer_service.event_timers) == 0


@settings(max_examples=60)
@given(some.lists(some.tuples(some.integers(0, 1), some.sampled_from("ab"), _times), max_size=30), some.data())
def test_cuts_do_not_matter(records: list[tuple[int, str, int]], data: Any) -> None:
    """The same records in batches of any size give the same results in the same order."""
    one_by_one, in_batches = OperatorHarness(joined(-4, 4)), OperatorHarness(joined(-4, 4))
    for side, key, time in records:
        one_by_one.process(f"{key}{time}", time, side)
    position = 0
    while position < len(records):
        side = records[position][0]
        run = position + 1
        while run < len(records) and records[run][0] == side and data.draw(some.booleans()):
            run += 1
        batch = records[position:run]
        in_batches.process_batch([f"{key}{time}" for _, key, time in batch], [time for *_, time in batch], side)
        position = run
    assert in_batches.timed_outputs() == one_by_one.timed_outputs()
