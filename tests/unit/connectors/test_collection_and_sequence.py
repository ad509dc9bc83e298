"""Collections, sequences and generators give every record once, in order, also after a restart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.errors import ConfigurationError, TypeMismatchError
from funke.engine.operators.time.clock import ManualClock
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row
from tests.unit.connectors.source_draining import drain, drain_with_restart, read_split


def test_a_collection_comes_in_order_and_in_pieces() -> None:
    source = CollectionSource(iter(range(2500)))
    enumerator = source.create_enumerator(1)
    pieces = [enumerator.poll(1000)[0] for _ in range(3)]
    assert [len(piece.payload) for piece in pieces] == [1000, 1000, 500]
    assert [piece.is_last for piece in pieces] == [False, False, True]
    assert {piece.id for piece in pieces} == {"collection"}
    assert enumerator.is_finished
    assert drain(source) == list(range(2500))
    assert source.fixed_parallelism == 1


def test_an_empty_collection_is_finished_at_once() -> None:
    assert CollectionSource([]).create_enumerator(1).is_finished


def test_typed_elements_fit_their_type() -> None:
    assert drain(CollectionSource([43878, None], Types.SHORT())) == [-21658, None]
    row_type = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
    assert drain(CollectionSource([("x", 1)], row_type)) == [Row(a="x", b=1)]


def test_an_element_that_does_not_fit_is_rejected_when_the_source_is_made() -> None:
    with pytest.raises(TypeMismatchError, match="String"):
        CollectionSource([[1]], Types.STRING())


def test_numbers_become_text_where_text_is_declared() -> None:
    pairs = Types.TUPLE([Types.STRING(), Types.STRING()])
    assert drain(CollectionSource([(1, True), (1.5, "x")], pairs)) == [("1", "true"), ("1.5", "x")]


@given(st.integers(0, 50), st.integers(0, 8), st.integers(1, 20))
def test_a_collection_goes_on_after_a_restart(size: int, epochs: int, max_records: int) -> None:
    source = CollectionSource(range(size))
    assert drain_with_restart(source, epochs, max_records=max_records) == list(range(size))


@given(st.integers(-20, 20), st.integers(0, 100), st.integers(1, 7), st.integers(1, 50), st.integers(0, 5))
def test_a_sequence_gives_every_number_once(start: int, more: int, parallelism: int, most: int, epochs: int) -> None:
    numbers = list(range(start, start + more + 1))
    source = SequenceSource(start, start + more)
    assert sorted(drain(source, parallelism, most)) == numbers
    assert sorted(drain_with_restart(source, epochs, parallelism, most)) == numbers


def test_a_sequence_with_one_subtask_is_in_order() -> None:
    assert drain(SequenceSource(-3, 3000), parallelism=1, max_records=7) == list(range(-3, 3001))


def test_each_part_of_a_sequence_rises_and_says_when_it_ends() -> None:
    enumerator = SequenceSource(0, 9).create_enumerator(3)
    parts: dict[str, list[int]] = {}
    last: dict[str, list[bool]] = {}
    while not enumerator.is_finished:
        for split in enumerator.poll(4):
            values, _, _ = read_split(SequenceSource(0, 9).create_reader(), split)
            parts.setdefault(split.id, []).extend(values)
            last.setdefault(split.id, []).append(split.is_last)
    assert parts == {"0": [0, 1, 2], "1": [3, 4, 5], "2": [6, 7, 8, 9]}
    assert all(flags[-1] and not any(flags[:-1]) for flags in last.values())


def test_a_sequence_that_runs_backwards_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="from 2 to 1"):
        SequenceSource(2, 1)


def square(index: int) -> int:
    return index * index


@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 15), st.integers(0, 6))
def test_a_generator_gives_every_index_once(count: int, parallelism: int, most: int, epochs: int) -> None:
    source = GeneratorSource(square, count)
    expected = [index * index for index in range(count)]
    assert drain(source, parallelism, most) == expected
    assert drain_with_restart(source, epochs, parallelism, most) == expected


def test_generated_values_fit_their_type_and_carry_timestamps() -> None:
    source = GeneratorSource(lambda i: (i + 127, i * 1000), 3, type_info=Types.BYTE(), with_timestamps=True)
    split = source.create_enumerator(1).poll(10)[0]
    assert read_split(source.create_reader(), split)[:2] == ([127, -128, -127], [0, 1000, 2000])


def test_a_rate_is_kept_by_the_clock() -> None:
    clock = ManualClock(5000)
    source = GeneratorSource(square, records_per_second=100, clock=clock)
    assert not source.is_bounded
    enumerator = source.create_enumerator(1)

    def due() -> int:
        return sum(split.weight for split in enumerator.poll(10_000))

    assert due() == 1
    assert due() == 0
    assert enumerator.next_poll_ms() == 10
    clock.set(5010)
    assert due() == 1
    clock.set(6010)
    assert due() == 100
    clock.set(6015)
    assert due() == 0
    clock.set(6020)
    assert due() == 1
    clock.set(3_600_000)
    assert due() == 1000, "an hour of standstill is not made up for"


def test_records_of_a_high_rate_go_some_at_a_time() -> None:
    clock = ManualClock(5000)
    enumerator = GeneratorSource(square, records_per_second=100_000, clock=clock).create_enumerator(2)

    def due(now_ms: int) -> int:
        clock.set(now_ms)
        return sum(split.weight for split in enumerator.poll(10_000))

    assert due(5000) == 1
    assert [due(5000 + ms) for ms in range(1, 5)] == [0, 0, 0, 0]
    assert enumerator.next_poll_ms() == 1
    assert due(5005) == 500
    assert enumerator.next_poll_ms() == 5
    assert due(5012) == 700


def test_few_records_at_a_time_reach_all_subtasks() -> None:
    clock = ManualClock()
    enumerator = GeneratorSource(square, records_per_second=1, clock=clock).create_enumerator(3)
    ids = []
    for second in range(6):
        clock.set(second * 1000)
        ids += [split.id for split in enumerator.poll(100)]
    assert sorted(ids) == ["0", "0", "1", "1", "2", "2"]


@pytest.mark.parametrize("options", [{"count": -1}, {"records_per_second": 0}])
def test_impossible_generators_are_rejected(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        GeneratorSource(square, **options)
