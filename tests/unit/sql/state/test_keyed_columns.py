"""Keyed columns are the same in both backends; RocksDB is asked once for a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.state.backend_columns import BackendColumns
from funke.engine.sql.state.heap_columns import HeapColumns
from funke.engine.sql.state.keyed_columns import ColumnLayout, KeyedColumns
from funke.engine.state.rocksdb.backend import RocksDBBackend
from funke.engine.state.snapshot.part_chunks import joined_parts
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import BACKENDS, backend_factory


def created(count: int) -> tuple[Any, ...]:
    return np.zeros(count, np.int64), np.fromiter(([] for _ in range(count)), object, count)


@pytest.fixture(params=BACKENDS)
def make(request: pytest.FixtureRequest) -> Any:
    """Makes states of one backend."""
    with backend_factory(request.param) as backends:

        def new(ttl_ms: int = 0, clock: ManualClock | None = None) -> KeyedColumns:
            layout, now_ms = ColumnLayout("state", created, ttl_ms), (clock or ManualClock()).now_ms
            if request.param == "hashmap":
                return HeapColumns(layout, KeyGroups(128), now_ms)
            backend = backends(now_ms=now_ms)
            assert isinstance(backend, RocksDBBackend)
            return BackendColumns(layout, backend, now_ms)

        yield new


def put(state: KeyedColumns, entries: dict[Any, int], namespace: Any = None) -> None:
    fetched = state.fetch(list(entries), namespace)
    numbers = np.array(list(entries.values()))
    state.store(fetched, (numbers, np.fromiter(([each] for each in entries.values()), object, len(entries))))


def stored_rows(state: KeyedColumns, keys: Any, namespace: Any = None) -> list[Any]:
    fetched = state.fetch(keys, namespace)
    rows = zip(*(column.tolist() for column in fetched.columns))
    return [row if is_known else None for row, is_known in zip(rows, fetched.is_known.tolist())]


def test_entries_are_stored_and_removed(make: Any) -> None:
    state = make()
    put(state, {1: 10, "a": 20, None: 30, (1, "b"): 40})
    put(state, {1: 11, 2: 50})
    assert stored_rows(state, ["a", 2, 1, 3, (1, "b"), None]) == [
        (20, [20]),
        (50, [50]),
        (11, [11]),
        None,
        (40, [40]),
        (30, [30]),
    ]
    fetched = state.fetch([1, "a", 9])
    state.store(fetched, fetched.columns, np.array([True, False, False]))
    assert stored_rows(state, np.array([1, 9])) == [(11, [11]), None]
    assert stored_rows(state, ["a", (1, "b")]) == [None, (40, [40])]
    put(state, {7: 70})
    assert stored_rows(state, [7, 2]) == [(70, [70]), (50, [50])]


def test_entries_are_changed_where_they_stand() -> None:
    layout = ColumnLayout("state", created)
    state = HeapColumns(layout, KeyGroups(128), ManualClock().now_ms)
    put(state, {1: 10, 2: 20, 3: 30})
    fetched = state.fetch([2])
    state.store(fetched, fetched.columns, np.array([False]))
    entries = state.direct(np.array([3, 5, 1, 2, 5]))
    assert entries is not None
    indexes, numbers, is_known = entries.indexes, entries.columns[0], entries.is_known
    assert is_known[indexes].tolist() == [1, 0, 1, 0, 0]
    assert numbers[indexes].tolist() == [30, 0, 10, 0, 0] and indexes[1] == indexes[4]
    np.add.at(numbers, indexes, 1)
    is_known[indexes] = 1
    assert stored_rows(state, [1, 2, 3, 5]) == [(11, [10]), (1, []), (31, [30]), (2, [])]
    again = state.direct(np.array([5]))
    assert again is not None and again.is_known[again.indexes].tolist() == [1]
    assert again.columns is entries.columns, "until they grow"
    more = state.direct(np.arange(5000))
    assert more is not None and more.columns is not entries.columns
    assert sorted(more.indexes.tolist()) == sorted({*more.indexes.tolist()})
    assert more.columns[0][more.indexes[:6]].tolist() == [0, 11, 1, 31, 0, 2]
    assert more.is_known[more.indexes[:6]].tolist() == [0, 1, 1, 1, 0, 1]


def test_entries_that_may_expire_are_not_changed_there() -> None:
    state = HeapColumns(ColumnLayout("state", created, 1000), KeyGroups(128), ManualClock().now_ms)
    assert state.direct(np.array([1])) is None


def test_namespaces_are_apart(make: Any) -> None:
    state = make()
    put(state, {1: 10, 2: 20}, 5)
    put(state, {1: 30}, 6)
    keys, columns = state.entries(5)
    assert sorted(zip(keys, columns[0].tolist())) == [(1, 10), (2, 20)]
    state.drop(5)
    assert stored_rows(state, [1, 2], 5) == [None, None] and stored_rows(state, [1], 6) == [(30, [30])]


def test_idle_entries_expire(make: Any) -> None:
    clock = ManualClock()
    state = make(1000, clock)
    put(state, {1: 10, "a": 20})
    clock.set(clock.now_ms() + 600)
    put(state, {1: 11})
    clock.set(clock.now_ms() + 600)
    assert stored_rows(state, [1, "a"]) == [(11, [11]), None]
    state.prune()
    state.prepare_snapshot(1)
    parts = joined_parts(state.snapshot_parts())
    assert [key for part in parts.values() for table in part.tables.values() for key in table] == [1]


def test_snapshots_fit_the_other_backend(make: Any) -> None:
    state = make()
    put(state, {number: number * 10 for number in range(50)})
    state.prepare_snapshot(1)
    parts = list(state.snapshot_parts())
    again, heap = make(), HeapColumns(ColumnLayout("state", created), KeyGroups(128), lambda: 0)
    for restored in (again, heap):
        restored.restore(parts)
        assert stored_rows(restored, np.arange(50)) == [(number * 10, [number * 10]) for number in range(50)]


def test_native_files_come_back() -> None:
    with backend_factory("rocksdb") as backends:
        first, second = backends(), backends()
        state = BackendColumns(ColumnLayout("state", created), first, lambda: 0)
        put(state, {number: number for number in range(50)})
        state.prepare_snapshot(1)
        assert state.native_files()
        again = BackendColumns(ColumnLayout("state", created), second, lambda: 0)
        again.restore_native([first._latest.folder], range(128))
        assert stored_rows(again, [0, 49, 50]) == [(0, [0]), (49, [49]), None]


def test_a_batch_is_one_request_and_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    with backend_factory("rocksdb-without-cache") as backends:
        backend = backends()
        state = BackendColumns(ColumnLayout("state", created), backend, lambda: 0)
        put(state, {number: number for number in range(500)})
        requests: list[Any] = []
        get, put_rows = backend.store.get, backend.store.put
        monkeypatch.setattr(backend.store, "get", lambda rows: requests.append(("get", len(rows))) or get(rows))
        monkeypatch.setattr(backend.store, "put", lambda *rows: requests.append("put") or put_rows(*rows))
        put(state, {number: number for number in range(250, 750)})
        # The others were written just now.
        assert requests == [("get", 250), "put"]
