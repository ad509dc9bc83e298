"""Caches before a table that is looked up; the clock is moved by the tests."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.connectors.lookup.caches import FullCache, NoCache, PartialCache, PartialCacheSettings
from funke.engine.sql.connectors.lookup.lookup import KeyedTable
from funke.engine.sql.connectors.lookup.reload_times import ReloadTimes

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
KEYS = pa.schema([SCHEMA.field("id")])


class Table(KeyedTable):
    """Rows of a test, and what was asked of them."""

    def __init__(self, *rows):
        self.rows = list(rows)
        self.asked = []

    def fetch(self, keys):
        expected = keys.column(0).to_pylist()
        self.asked.append(expected)
        keys = set(expected)
        return self._batch(row for row in self.rows if row[0] in keys)

    def fetch_all(self):
        self.asked.append("all")
        return self._batch(self.rows)

    @staticmethod
    def _batch(rows):
        return pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, row)) for row in rows], schema=SCHEMA)

    def close(self):
        self.asked.append("closed")


def names(lookup, *keys):
    results = lookup.find(pa.RecordBatch.from_arrays([pa.array(keys, pa.int64())], schema=KEYS))
    column = results.rows.column("name").to_pylist()
    ends = results.counts.cumsum().tolist()
    return [
        [column[index] for index in results.indexes[end - count : end]]
        for end, count in zip(ends, results.counts.tolist())
    ]


def test_without_a_cache_every_key_is_asked_for():
    table = Table((1, "a"), (1, "b"), (2, "c"))
    lookup = NoCache(table, [0])
    assert names(lookup, 2, 1, 3) == [["c"], ["a", "b"], []]
    assert names(lookup, 2) == [["c"]]
    lookup.close()
    assert table.asked == [[2, 1, 3], [2], "closed"]


def partial(table, clock, **settings):
    return PartialCache(table, [0], PartialCacheSettings(**settings), clock)


def test_keys_are_asked_for_once():
    table = Table((1, "a"), (1, "b"), (2, "c"))
    lookup = partial(table, ManualClock(0))
    assert names(lookup, 1, 3) == [["a", "b"], []]
    assert names(lookup, 3, 2, 1) == [[], ["c"], ["a", "b"]]
    assert table.asked == [[1, 3], [2]]


def test_missing_keys_may_be_asked_for_again():
    table = Table((1, "a"))
    lookup = partial(table, ManualClock(0), caches_missing=False)
    assert names(lookup, 1, 3) == [["a"], []]
    table.rows.append((3, "c"))
    assert names(lookup, 1, 3) == [["a"], ["c"]]
    assert table.asked == [[1, 3], [3]]


@pytest.mark.parametrize(
    ("kind", "asked"), [("expire_after_write_ms", [[1], [2], [1], [2]]), ("expire_after_access_ms", [[1], [2], [2]])]
)
def test_keys_expire(kind, asked):
    table, clock = Table((1, "a"), (2, "b")), ManualClock(0)
    lookup = partial(table, clock, **{kind: 100})
    names(lookup, 1)
    clock.set(60)
    names(lookup, 1, 2)
    clock.set(120)
    names(lookup, 1)  # used in time, but written too long ago
    clock.set(160)
    names(lookup, 2)
    assert table.asked == asked


def test_the_key_that_was_not_used_the_longest_goes_first():
    table = Table(*((key, str(key)) for key in range(5)))
    lookup = partial(table, ManualClock(0), max_rows=2)
    names(lookup, 1)
    names(lookup, 2)
    names(lookup, 1)
    names(lookup, 3)
    assert names(lookup, 1) == [["1"]]
    assert names(lookup, 2) == [["2"]]
    assert table.asked == [[1], [2], [3], [2]]


def test_rows_of_forgotten_keys_do_not_pile_up():
    table = Table(*((key, str(key)) for key in range(8_000)))
    lookup = partial(table, ManualClock(0), max_rows=10)
    for start in range(0, 8_000, 1_000):
        keys = range(start, start + 1_000)
        assert names(lookup, *keys) == [[str(key)] for key in keys]
    assert len(lookup._rows) <= 5_000
    assert names(lookup, 7_999, 5) == [["7999"], ["5"]]


def test_the_whole_table_is_read_and_read_again():
    table, clock = Table((1, "a")), ManualClock(1000)
    lookup = FullCache(table, [0], ReloadTimes(500), clock)
    lookup.open()
    table.rows[0] = (1, "b")
    assert names(lookup, 1, 2) == [["a"], []]
    clock.set(1499)
    assert names(lookup, 1) == [["a"]]
    clock.set(1500)
    assert names(lookup, 1) == [["b"]]
    assert table.asked == ["all", "all"]


def test_a_table_is_read_again_at_a_time_of_day():
    times = ReloadTimes(time_of_day=datetime.time(10, 15, tzinfo=datetime.UTC), days=2)
    day_ms = 86_400_000
    due_ms = (10 * 60 + 15) * 60_000
    assert times.next_ms(0, 0) == due_ms
    assert times.next_ms(0, due_ms) == due_ms + 2 * day_ms
