"""What was found for rows, against a plain dict: rows come, go, expire and move to another process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.kept_lookups import KeptLookups

LEFT = pa.schema([("id", pa.int64()), ("text", pa.string())])
RIGHT = pa.schema([("found", pa.int64())])


def rows_of(rows):
    return pa.RecordBatch.from_arrays([pa.array(each, kind) for each, kind in zip(zip(*rows), LEFT.types)], schema=LEFT)


def add(kept, rows, now_ms=0):
    """Rows (id, text, what was found)."""
    results = [each for row in rows for each in row[2]]
    counts = np.array([len(row[2]) for row in rows], np.int64)
    kept.add(rows_of([row[:2] for row in rows]), counts, [pa.array(results, pa.int64())], now_ms)


def take_back(kept, rows, now_ms=0):
    counts, columns = kept.take_back(rows_of(rows), now_ms)
    values, values_of_rows = columns[0].to_pylist(), []
    for count in counts.tolist():
        values_of_rows.append(None if count < 0 else [values.pop(0) for _ in range(count)])
    return values_of_rows


ids = st.one_of(st.none(), st.integers(0, 2))
strings = st.sampled_from([None, "", "a"])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"), st.lists(st.tuples(ids, strings, st.lists(st.integers(0, 9), max_size=3)), min_size=1)
        ),
        st.tuples(st.just("take back"), st.lists(st.tuples(ids, strings), min_size=1)),
        st.tuples(st.just("move"), st.none()),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(steps, st.booleans())
def test_as_a_dict(steps, is_unique):
    keys = [0] if is_unique else [0, 1]
    kept, model = KeptLookups(LEFT, RIGHT, keys, is_unique, 0), {}
    for word, what in steps:
        if word == "move":
            data, times = kept.all_rows(0)
            kept = KeptLookups(LEFT, RIGHT, keys, is_unique, 0)
            kept.put(data, times)
        elif word == "add":
            add(kept, what)
            for row in what:
                entries = model.setdefault(row[: len(keys)], [])
                entries[:] = [] if is_unique else entries
                entries.append(row[2])
        else:
            expected = [entries.pop() if (entries := model.get(row[: len(keys)])) else None for row in what]
            assert take_back(kept, what) == expected


def test_old_rows_are_forgotten():
    kept = KeptLookups(LEFT, RIGHT, [0], True, 100)
    add(kept, [(1, "a", [7])], now_ms=0)
    add(kept, [(2, "a", [8])], now_ms=60)
    assert kept.all_rows(100)[0].column("id").to_pylist() == [2]
    assert take_back(kept, [(1, "a"), (2, "a")], now_ms=100) == [None, [8]]


def test_rows_that_are_gone_take_no_room():
    kept = KeptLookups(LEFT, RIGHT, [0], True, 0)
    for _ in range(3):
        rows = [(number, "x", [number]) for number in range(5_000)]
        add(kept, rows)
        take_back(kept, [row[:2] for row in rows[1:]])
        kept.shrink(0)
    assert kept._left.count <= 5_000
    assert take_back(kept, [(0, "x"), (1, "x")]) == [[0], None]
