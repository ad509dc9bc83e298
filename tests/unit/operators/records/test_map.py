"""Map, flat map and filter, on streams with and without keys."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.graph.operations import Filter, FlatMap, Map
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types import Row, Types
from funke.engine.types.functions import FilterFunction, FlatMapFunction, Function, MapFunction
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness, Record, Watermark
from tests.harness.stream_table import check_stream_table


class Counting(Function):
    """Counts the elements of each key, and how often it was opened and closed."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def close(self) -> None:
        self.calls.append("close")

    def count(self) -> int:
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        return count


class CountingMap(Counting, MapFunction):
    def map(self, value: Any) -> Any:
        return value, self.count()


class CountingFlatMap(Counting, FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        count = self.count()
        yield from [value] * (count - 1)


class FirstOfKey(Counting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.count() == 1


def first(value: Any) -> Any:
    return value[0]


def test_map_keeps_timestamps_and_passes_watermarks_on() -> None:
    check_stream_table(
        OperatorHarness(Map(lambda value: value * 10)),
        """
        1 @ 100        | 10 @ 100
        2              | 20
        watermark 100  | watermark 100
        idle           | idle
        active         | active
        end            | watermark max
        """,
    )


def test_flat_map_takes_lists_generators_and_none() -> None:
    def split(line: str) -> Any:
        return None if line == "none" else (word for word in line.split())

    check_stream_table(
        OperatorHarness(FlatMap(split)),
        """
        'a b' @ 5   | 'a' @ 5; 'b' @ 5
        ''          |
        'none' @ 6  |
        'c'         | 'c'
        """,
    )
    harness = OperatorHarness(FlatMap(lambda line: line.split()))
    harness.process_batch(["a b", "", "c"], [1, 2, 3])
    assert harness.timed_outputs() == [("a", 1), ("b", 1), ("c", 3)]


def test_filter_keeps_the_timestamps_of_what_stays() -> None:
    harness = OperatorHarness(Filter(lambda value: value % 2))
    harness.process_batch([1, 2, 3], [10, 20, 30])
    harness.process_batch([4, 5], None)
    assert harness.timed_outputs() == [(1, 10), (3, 30), (5, None)]


def test_a_batch_without_results_sends_nothing() -> None:
    harness = OperatorHarness(Filter(lambda value: False))
    harness.process_batch([1, 2], [10, 20])
    assert harness.elements() == []


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Map(CountingMap(), first), [(("a", 1), 1), (("b", 2), 1), (("a", 3), 2), (("a", 4), 3)]),
        (FlatMap(CountingFlatMap(), first), [("a", 3), ("a", 4), ("a", 4)]),
        (Filter(FirstOfKey(), first), [("a", 1), ("b", 2)]),
    ],
)
def test_functions_on_a_keyed_stream_have_state_of_the_current_key(operation: Any, expected: list[Any]) -> None:
    harness = OperatorHarness(operation)
    harness.process_batch([("a", 1), ("b", 2), ("a", 3)], [1, 2, 3])
    harness.process_batch([("a", 4)], [4])
    timed = harness.timed_outputs()
    assert [value for value, _ in timed] == expected
    pairs = [(value[0] if isinstance(value[0], tuple) else value, timestamp) for value, timestamp in timed]
    assert all(value[1] == timestamp for value, timestamp in pairs)


@pytest.mark.parametrize(
    "operation",
    [Map(CountingMap()), FlatMap(CountingFlatMap()), Filter(FirstOfKey())],
    ids=["map", "flat_map", "filter"],
)
def test_state_needs_a_keyed_stream(operation: Any) -> None:
    with pytest.raises(StateError, match=r"'seen'.*only\s+accessible by functions executed on a KeyedStream"):
        OperatorHarness(operation)


def test_a_function_object_is_opened_and_closed_once() -> None:
    function = CountingMap()
    harness = OperatorHarness(Map(function, first))
    harness.process(("a", 1))
    harness.end_epoch()
    harness.process(("a", 2))
    harness.end_input()
    harness.close()
    harness.close()
    assert function.calls == ["open", "close"]


def test_instance_fields_live_as_long_as_the_subtask_and_are_shared_by_its_keys() -> None:
    class Numbering(MapFunction):
        number = 0

        def map(self, value: Any) -> Any:
            self.number += 1
            return self.number, value

    harness = OperatorHarness(Map(Numbering(), first))
    harness.process_batch(["ab", "b"])
    harness.end_epoch()
    harness.process_batch(["a"])
    assert harness.outputs() == [(1, "ab"), (2, "b"), (3, "a")]


def test_an_object_with_a_map_method_is_enough() -> None:
    class Doubler:
        def map(self, value: int) -> int:
            return value * 2

    harness = OperatorHarness(Map(Doubler()))
    harness.process_batch([1, 2])
    assert harness.outputs() == [2, 4]


class Accumulator(MapFunction):
    """Always returns the same dict."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}

    def map(self, value: str) -> Any:
        self.totals[value] = self.totals.get(value, 0) + 1
        return self.totals


@pytest.mark.parametrize("operation", [Map(Accumulator()), Map(Accumulator(), first)], ids=["plain", "keyed"])
def test_what_was_sent_does_not_change_when_the_function_goes_on(operation: Map) -> None:
    harness = OperatorHarness(operation)
    harness.process_batch(["a", "b", "a"])
    assert harness.outputs() == [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}]


def test_a_generator_may_yield_the_same_row_again_and_again() -> None:
    def steps(row: Row) -> Any:
        for number in range(3):
            row[1] = number
            yield row

    harness = OperatorHarness(FlatMap(steps))
    harness.process_batch([Row("a", None)])
    assert harness.outputs() == [Row("a", 0), Row("a", 1), Row("a", 2)]


def test_the_fast_paths_give_the_same_results_as_the_careful_ones() -> None:
    many = list(range(ResultGuard.TRIAL + 100))
    for operation, expected in [
        (Map(type("M", (MapFunction,), {"map": lambda self, value: value + 1})()), [value + 1 for value in many]),
        (FlatMap(lambda value: [value, -value]), [sign * value for value in many for sign in (1, -1)]),
    ]:
        for timestamps in (None, many):
            harness = OperatorHarness(operation)
            harness.process_batch(many, timestamps)
            careful = harness.elements()
            assert not harness.operator.guard.is_careful  # type: ignore[attr-defined]
            harness.process_batch(many, timestamps)
            assert harness.elements() == careful
            assert [record.value for record in careful] == expected


def test_metrics_count_records_and_show_the_watermark() -> None:
    harness = OperatorHarness(FlatMap(lambda value: [value] * value))
    harness.process_batch([1, 2, 3])
    harness.watermark(77)
    assert harness.operator.metrics() == {"numRecordsIn": 3, "numRecordsOut": 6, "currentInputWatermark": 77}
    assert harness.elements()[-1] == Watermark(77)
    assert Record(1) != Watermark(77)


@pytest.mark.parametrize("key_selector", [None, first], ids=["plain", "keyed"])
def test_map_sends_pairs_with_a_tag_to_the_side_output(key_selector: Any) -> None:
    odd = OutputTag("odd", Types.INT())

    class Sorting(MapFunction):
        def map(self, value: tuple[str, int]) -> Any:
            return (odd, value[1]) if value[1] % 2 else value

    harness = OperatorHarness(Map(Sorting(), key_selector), side_outputs=(odd,))
    harness.process_batch([("a", 1), ("a", 2), ("b", 3)], [10, 20, 30])
    harness.process_batch([("c", 4)], None)
    assert harness.timed_outputs() == [(("a", 2), 20), (("c", 4), None)]
    assert harness.side_output(odd) == [1, 3]
