"""Group aggregates: the changes that come out are those of one row at a time, however the input is cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.plan.changelogs.changes import ChangeSettings
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import choice_of
from tests.harness.sql_changelogs import Change, RunningQuery, bound_query, folded, inserts, one_by_one

COLUMNS = {"k": "INT", "name": "STRING", "v": "BIGINT", "d": "DOUBLE"}
EVERYTHING = """
    SELECT k, COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(name), AVG(v), SUM(d) FILTER (WHERE v > 0),
           COUNT(DISTINCT v), SUM(DISTINCT v) FILTER (WHERE name = 'a'), COUNT(DISTINCT v) FILTER (WHERE name = 'b')
    FROM t GROUP BY k
"""


def outcome(text: str, batches: list[list[Change]], has_changes: bool = False, **settings: Any) -> list[Change]:
    query = RunningQuery(bound_query(text, has_changes=has_changes, settings=ChangeSettings(**settings), **COLUMNS))
    return [change for batch in batches for change in query.feed(batch)]


def test_every_row_gives_a_change() -> None:
    rows = [(1, "a", 5, 0.5), (2, "b", 1, None), (1, "c", 7, 1.5), (1, "d", None, None)]
    assert outcome("SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k", [inserts(rows)]) == [
        ("+I", (1, 1, 5)),
        ("+I", (2, 1, 1)),
        ("-U", (1, 1, 5)),
        ("+U", (1, 2, 12)),
        ("-U", (1, 2, 12)),
        ("+U", (1, 3, 12)),
    ]


def test_a_result_that_stays_the_same_is_not_sent_again() -> None:
    rows = [(1, "a", 5, None), (1, "b", 3, None), (1, "c", 9, None)]
    actual = outcome("SELECT k, MAX(v) FROM t GROUP BY k", [inserts(rows)])
    assert actual == [("+I", (1, 5)), ("-U", (1, 5)), ("+U", (1, 9))]
    with_ttl = outcome("SELECT k, MAX(v) FROM t GROUP BY k", [inserts(rows)], ttl_ms=1000)
    assert with_ttl == [("+I", (1, 5)), ("-U", (1, 5)), ("+U", (1, 5)), ("-U", (1, 5)), ("+U", (1, 9))]


def test_a_key_whose_last_row_is_taken_back_is_deleted() -> None:
    row = (1, "a", 5, None)
    changes: list[Change] = [("-D", row), ("+I", row), ("-D", row), ("-D", row), ("+I", row), ("+I", row), ("-U", row)]
    expected = [
        ("+I", (1, 5)),
        ("-D", (1, 5)),
        ("+I", (1, 5)),
        ("-U", (1, 5)),
        ("+U", (1, 10)),
        ("-U", (1, 10)),
        ("+U", (1, 5)),
    ]
    text = "SELECT k, SUM(v) FROM t GROUP BY k"
    assert outcome(text, [changes], has_changes=True) == expected
    assert outcome(text, [[change] for change in changes], has_changes=True) == expected


def test_folded_changes() -> None:
    batches = [inserts([(1, "a", 5, None), (2, "b", 1, None), (1, "c", 7, None)]), inserts([(1, "d", 1, None)])]
    assert outcome("SELECT k, SUM(v) FROM t GROUP BY k", batches, is_folded=True) == [
        ("+I", (1, 12)),
        ("+I", (2, 1)),
        ("-U", (1, 12)),
        ("+U", (1, 13)),
    ]


def test_without_keys_there_is_one_result() -> None:
    assert outcome("SELECT COUNT(*), MAX(v) FROM t", [inserts([(1, "a", 5, None)]), inserts([(2, "b", 4, None)])]) == [
        ("+I", (1, 5)),
        ("-U", (1, 5)),
        ("+U", (2, 5)),
    ]


def test_distinct_rows_are_sent_once() -> None:
    rows = [(1, "a", 1, None), (1, "b", 2, None), (1, "a", 3, None), (None, "a", 1, None), (None, "a", 1, None)]
    actual = outcome("SELECT DISTINCT k, name FROM t", [inserts(rows[:2]), inserts(rows[2:])])
    assert actual == inserts([(1, "a"), (1, "b"), (None, "a")])


def test_values_that_came_twice_are_there_until_both_have_gone() -> None:
    row = (1, "a", 5, None)
    batches: list[list[Change]] = [inserts([row, row, (1, "b", None, None)]), [("-D", row)], [("-D", row)]]
    actual = outcome("SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k", batches, has_changes=True)
    assert actual == [("+I", (1, 1)), ("-U", (1, 1)), ("+U", (1, 0))]


def test_keys_of_many_types() -> None:
    text = """
        SELECT COUNT(*) FROM t
        GROUP BY d, CAST(v AS DECIMAL(10, 2)), INTERVAL '1' DAY, TIMESTAMP '2020-01-01 00:00:00', ARRAY[k], ROW(k, name)
    """
    rows = [(1, "a", 1, -0.0), (1, "a", 1, 0.0), (1, "b", 1, float("nan")), (1, "b", 1, float("nan"))]
    # As bytes -0.0 and 0.0 differ; as keys they are the same, and so are all NaNs.
    assert folded(outcome(text, [inserts(rows[:3]), inserts(rows[3:])])) == [(2,), (2,)]


def test_sets_of_keys() -> None:
    text = "SELECT k, name, COUNT(*), GROUPING(k), GROUPING_ID(k, name) FROM t GROUP BY ROLLUP (k, name)"
    assert folded(outcome(text, [inserts([(1, "a", 1, None), (1, None, 1, None)])])) == folded(
        inserts([(1, "a", 1, 0, 0), (1, None, 1, 0, 0), (1, None, 2, 0, 1), (None, None, 2, 1, 3)])
    )


def test_conditions_on_results() -> None:
    rows = inserts([(1, "a", 5, None), (1, "b", 7, None), (1, "c", 9, None)])
    assert outcome("SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) = 2", [rows]) == [
        ("+U", (1, 2)),
        ("-U", (1, 2)),
    ]


def test_aggregates_of_aggregates() -> None:
    text = "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c"
    rows = [(1, "a", 1, None), (2, "a", 1, None), (1, "a", 1, None), (2, "a", 1, None)]
    assert folded(outcome(text, [inserts(rows)])) == [(2, 2)]


KEYS = st.sampled_from([None, 1, 2])
ROWS = st.tuples(
    KEYS,
    st.sampled_from([None, "a", "b"]),
    st.none() | st.integers(-3, 3),
    st.none() | st.sampled_from([0.1, 0.2, -0.0, float("nan"), 1e300]),
)


@settings(max_examples=15)
@given(st.lists(ROWS, max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_cuts_make_no_difference(rows: list[Any], cuts: list[int]) -> None:
    indexes = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    batches = [inserts(rows[start:end]) for start, end in pairwise(indexes)]
    expected = one_by_one(bound_query(EVERYTHING, **COLUMNS), inserts(rows)) if rows else []
    assert repr(outcome(EVERYTHING, batches)) == repr(expected)


@st.composite
def changelogs(draw: st.DrawFn) -> list[Change]:
    """Rows that come and go; now and then one goes that was never there."""
    present: list[Any] = []
    changes: list[Change] = []
    for row in draw(st.lists(ROWS.map(lambda row: (*row[:3], float(row[2] or 0))), max_size=12)):
        if present and draw(st.booleans()):
            changes.append((draw(st.sampled_from(["-U", "-D"])), present.pop(draw(st.integers(0, len(present) - 1)))))
        elif draw(st.integers(0, 9)) == 0:
            changes.append(("-D", row))
        else:
            changes.append((draw(st.sampled_from(["+I", "+U"])), row))
            present.append(row)
    return changes


@settings(max_examples=15)
@given(changelogs(), st.integers(1, 12))
def test_cuts_make_no_difference_to_retractions(changes: list[Change], size: int) -> None:
    batches = [changes[start : start + size] for start in range(0, len(changes), size)]
    expected = one_by_one(bound_query(EVERYTHING, has_changes=True, **COLUMNS), changes) if changes else []
    assert repr(outcome(EVERYTHING, batches, has_changes=True)) == repr(expected)


@settings(max_examples=10)
@given(st.lists(ROWS.map(lambda row: (*row[:3], float(row[2] or 0))), max_size=10), st.data())
def test_what_is_left_is_the_result_of_what_is_left(rows: list[Any], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, max(0, len(rows) - 1)), max_size=len(rows))) if rows else set()
    changes = inserts(rows) + [("-D", rows[index]) for index in sorted(gone)]
    left = inserts([row for index, row in enumerate(rows) if index not in gone])
    expected = folded(outcome(EVERYTHING, [left] if left else []))
    for is_folded in (False, True):
        actual = outcome(EVERYTHING, [changes[:6], changes[6:]], has_changes=True, is_folded=is_folded)
        assert folded(actual) == expected


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("restored_backend", ["hashmap", "rocksdb"])
def test_state_survives_with_another_parallelism(backend: str, restored_backend: str) -> None:
    relation = bound_query(EVERYTHING, has_changes=True, **COLUMNS)
    rows = inserts([(number % 20, f"n{number % 7}", number, 0.5) for number in range(60)])
    expected = RunningQuery(relation)
    expected.feed(rows)
    first = RunningQuery(relation, backend=choice_of(backend))
    first.feed(rows)
    snapshot = first.stateful.snapshot()
    first.close()
    more = [("+I", (number, "z", 1000, 1.0)) for number in range(20)]
    results = []
    for subtask in (0, 1):
        part = RunningQuery(
            relation, backend=choice_of(restored_backend), parallelism=2, subtask=subtask, restored=[snapshot]
        )
        mine = [change for change in more if _subtask_of(change[1][0], 2) == subtask]
        results += part.feed(mine)
        part.close()
    assert sorted(results) == sorted(expected.feed(more))


def _subtask_of(key: int, parallelism: int) -> int:
    return KeyGroups(128).of(key) * parallelism // 128


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb", "rocksdb-without-cache"])
def test_idle_state_expires(backend: str) -> None:
    relation = bound_query("SELECT k, SUM(v) FROM t GROUP BY k", settings=ChangeSettings(ttl_ms=1000), **COLUMNS)
    query = RunningQuery(relation, backend=choice_of(backend))
    row = (1, "a", 5, None)
    assert query.feed(inserts([row])) == [("+I", (1, 5))]
    query.stateful.clock.set(query.stateful.clock.now_ms() + 500)
    assert query.feed(inserts([row, (2, "b", 1, None)]))[:2] == [("-U", (1, 5)), ("+U", (1, 10))]
    query.stateful.clock.set(query.stateful.clock.now_ms() + 1000)
    query.stateful.end_epoch()
    assert query.feed(inserts([row])) == [("+I", (1, 5))]
    query.close()
