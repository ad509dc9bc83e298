"""State beyond the cache: read for whole batches, kept as far as memory goes, in compact bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.datastream import KeyedProcessFunction
from funke.engine.graph.operations import Process
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.rocksdb.entry_memory import EntryMemory, object_bytes
from funke.engine.state.rocksdb.rows import (
    decode_value,
    encode_key,
    encode_rows,
    encode_value,
    encode_values,
    row_prefix,
)
from funke.engine.state.rocksdb.tables import RocksDBTable
from funke.engine.state.storage_keys import group_of, storage_keys
from funke.engine.state.value_codec import pack
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import backend_factory, choice_of
from tests.harness.operator_harness import OperatorHarness

VALUE = ValueStateDescriptor("value", Types.LONG())
KEYS = st.one_of(st.integers(), st.text(), st.binary(), st.tuples(st.integers(), st.text()), st.floats(), st.none())
STORED = st.one_of(KEYS, st.booleans(), st.lists(st.integers()), st.characters(categories=["Cs"]))


class Count(KeyedProcessFunction):
    """Counts the records of a key, or writes without looking."""

    def __init__(self, reads: bool) -> None:
        self.reads = reads

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(VALUE)

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        count = (self.value.value() or 0) + 1 if self.reads else 1
        self.value.update(count)
        yield value, count


class Requests:
    """Notes how many rows each request asks RocksDB for."""

    def __init__(self, store: Any) -> None:
        self.sizes: list[int] = []
        self._get = store.get
        store.get = self.get

    def get(self, rows: Any) -> Any:
        self.sizes.append(len(rows) if isinstance(rows, list) else 1)
        return self._get(rows)


def counting(reads: bool) -> tuple[OperatorHarness, Requests]:
    harness = OperatorHarness(Process(Count(reads), lambda value: value), backend=choice_of("rocksdb"))
    # As after a restart: only RocksDB knows what there is.
    harness.operator.function.value.table.release()  # type: ignore[attr-defined]
    return harness, Requests(harness.operator.backend.store)  # type: ignore[attr-defined]


def test_what_a_batch_asks_for_is_read_at_once() -> None:
    harness, requests = counting(reads=True)
    for start in range(0, 1000, 100):
        harness.operator.process_batch(list(range(start, start + 100)), None)
    # The first batch shows that keys are asked for; then there is one request for each.
    assert requests.sizes == [1] * 100 + [100] * 9


def test_what_no_function_asks_for_is_not_read() -> None:
    harness, requests = counting(reads=False)
    for start in range(0, 1000, 100):
        harness.operator.process_batch(list(range(start, start + 100)), None)
    assert requests.sizes == []


def test_a_function_that_stops_asking_is_noticed() -> None:
    harness, requests = counting(reads=True)
    function = harness.operator.function  # type: ignore[attr-defined]
    for number in range(300):
        function.reads = number < 10
        harness.operator.process_batch(list(range(number * 10, number * 10 + 10)), None)
    assert sum(requests.sizes[20:]) < 700, "batches after the next trial are not read"


def test_results_are_those_of_single_reads() -> None:
    harness, _ = counting(reads=True)
    for _ in range(3):
        for start in range(0, 400, 50):
            harness.operator.process_batch(list(range(start, start + 100)), None)
            harness.operator.prepare_snapshot(1)
    counts = [record.value for record in harness.recorder.elements]
    expected: dict[int, int] = {}
    for value, count in counts:
        expected[value] = expected.get(value, 0) + 1
        assert count == expected[value]


def test_entries_at_hand_stay_within_the_memory_of_the_slot() -> None:
    memory = EntryMemory(100_000)
    with backend_factory("rocksdb") as make:
        backend: Any = make()
        tables = [RocksDBTable(backend.store, number, b"", KeyGroups(128), set(), 1000, memory) for number in (0, 1)]
        most = 0
        for start in range(0, 20_000, 100):
            table = tables[start > 10_000]
            keys = list(range(start, start + 100))
            assert table.get_all(keys) == table.get_all(keys)
            table.put_all(keys, [f"value {key}" for key in keys])
            most = max(most, sum(each.kept_bytes for each in tables))
        # What came since the last look is not counted yet.
        assert 50_000 < most < 130_000
        assert tables[1].kept_bytes > tables[0].kept_bytes, "the one that was used last has most"
        assert tables[0].get_all([0, 9_999]) == ["value 0", "value 9999"]


@pytest.mark.parametrize(
    ("make", "least", "most"),
    [
        (lambda: 5, 20, 40),
        (lambda: "a" * 1000, 1000, 1100),
        (lambda: list(range(1000, 2000)), 30_000, 45_000),
        (lambda: {str(number): number for number in range(1000)}, 80_000, 150_000),
        (lambda: [[number] * 10 for number in range(100)], 10_000, 60_000),
    ],
)
def test_the_memory_of_an_object_is_estimated(make: Callable[[], Any], least: int, most: int) -> None:
    assert least < object_bytes(make()) < most


@given(st.lists(KEYS, min_size=1, max_size=20), st.binary(max_size=5))
def test_rows_of_many_keys_are_those_of_each(keys: list[Any], namespace: bytes) -> None:
    key_groups, stored = KeyGroups(128), storage_keys(keys)
    rows, indexes, groups, _ = encode_rows(stored, key_groups, 3, namespace)
    assert rows == sorted(rows) and sorted(indexes) == list(range(len(keys)))
    for row, index in zip(rows, indexes):
        group = group_of(stored[index], key_groups)
        assert row == row_prefix(group, 3, namespace) + encode_key(stored[index]) and group in groups


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=20))
def test_rows_of_integers_are_those_of_each(keys: list[int]) -> None:
    rows, indexes, _, has_buckets = encode_rows(keys, KeyGroups(100), 0, b"")
    assert not has_buckets and rows == sorted(rows)
    for row, index in zip(rows, indexes):
        assert row == row_prefix(KeyGroups(100).of(keys[index]), 0, b"") + encode_key(keys[index])


@given(STORED)
def test_values_come_back_as_they_were(value: Any) -> None:
    decoded = decode_value(encode_value(value))
    assert type(decoded) is type(value) and repr(decoded) == repr(value)
    # What earlier versions have written.
    assert repr(decode_value(pack(value))) == repr(value)


@given(st.lists(st.one_of(st.integers(), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=10))
def test_integers_come_back_in_bulk(numbers: list[int]) -> None:
    assert list(map(decode_value, encode_values(numbers))) == numbers


def test_state_of_earlier_versions_is_read() -> None:
    with backend_factory("rocksdb") as make:
        backend: Any = make()
        key_groups = KeyGroups(128)
        old = {"a": 7, "b": "text", "c": 2.5, "d": [1, 2]}
        state = backend.get_state(VALUE)
        for key, value in old.items():
            backend.store.write([(row_prefix(key_groups.of(key), 0, b"") + encode_key(key), pack(value))])
        # Without this, it knows that nothing was written before.
        state.table.release()
        for key, value in old.items():
            backend.current_key = key
            assert state.value() == value
        assert state.table.get_all(list(old)) == list(old.values())
