"""The compiled loop of patterns finds, keeps and counts what matching rows one by one does."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.errors import StateError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.patterns.runs import KeyRuns
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.operators import compiled_matching
from funke.engine.sql.plan.match_recognize import MatchRecognize
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical import (
    BigIntType,
    BooleanType,
    DataType,
    DoubleType,
    IntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)
from tests.harness.backends import choice_of
from tests.harness.kernel_forms import use_form
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factories_of
from tests.harness.sql_changelogs import batch_of, inserts
from tests.harness.sql_plans import SmallTable, planned

TYPES: dict[str, DataType] = {
    "k": VarCharType(),
    "v": IntType(),
    "b": BigIntType(),
    "t": TinyIntType(),
    "d": DoubleType(),
    "yes": BooleanType(),
    "moment": TimestampType(3),
}
COLUMNS = [*(Column(name, each) for name, each in TYPES.items()), Column("ts", TimestampType(3), TimeAttribute.ROWTIME)]
START = datetime.datetime(2024, 1, 1)
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Query:
    pattern: str
    define: str
    measures: str
    skip: str = "PAST LAST ROW"
    rows: str = "ONE ROW"

    @property
    def text(self) -> str:
        return f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {self.measures}
            {self.rows} PER MATCH AFTER MATCH SKIP {self.skip} PATTERN {self.pattern} DEFINE {self.define})"""


FIRST_AND_LAST = "FIRST(A.v) AS a, LAST(B.v) AS b, FIRST(B.ts, 1) AS c, LAST(A.k, 1) AS d, B.v - LAST(A.v) AS e"
TOTALS = """COUNT(*) AS a, COUNT(A.v) AS b, SUM(A.v) AS c, AVG(v) AS d, MIN(A.d) AS e, MAX(A.moment) AS f,
    SUM(A.d) AS g, AVG(d) AS h, MAX(yes) AS i, SUM(A.t) AS j, AVG(A.t) AS l, MIN(b) AS m"""
WITHIN = "WITHIN INTERVAL '5' SECOND"
QUERIES = {
    "average": Query("(A+ B)", "A AS AVG(A.v) < 3", FIRST_AND_LAST),
    "average, next": Query("(A+ B)", "A AS AVG(A.v) < 3", TOTALS, "TO NEXT ROW"),
    "down and up": Query(
        "(A B+ C)",
        """B AS (LAST(B.v, 1) IS NULL AND B.v < A.v) OR B.v < LAST(B.v, 1),
           C AS C.v > LAST(B.v, 1)""",
        "A.ts AS a, LAST(B.ts) AS b, LAST(C.ts) AS c",
        "TO LAST C",
    ),
    "in time": Query(
        f"(A B* C) {WITHIN}", "B AS B.v > A.v - 2, C AS C.v < A.v - 2", "C.ts AS a, A.v - C.v AS b, COUNT(B.v) AS c"
    ),
    "in time, next": Query(f"(A B+? C) {WITHIN}", "A AS A.v < 3, C AS C.v >= A.v", TOTALS, "TO NEXT ROW"),
    "numbers": Query(
        "(A B{2,3} C)",
        """A AS A.d < 2.5, B AS B.d + v * 2 > A.d AND B.v NOT BETWEEN 1 AND A.v OR SUM(B.t) > 100,
           C AS C.b * 4611686018427387904 >= 0 AND NOT (C.t + A.t < 0)""",
        TOTALS,
    ),
    "times and truth": Query(
        "(A B* C)",
        """A AS A.yes, B AS B.moment >= A.moment AND (B.yes OR A.yes IS NULL),
           C AS LAST(B.yes) IS NOT NULL AND C.moment <> A.moment""",
        "A.moment AS a, LAST(B.yes) AS b, C.k AS c, CLASSIFIER() AS d",
        "TO NEXT ROW",
    ),
    "either": Query(
        "((A | B)+ C)", "A AS A.v < 2, B AS MAX(A.v) < B.v, C AS COUNT(A.v) > COUNT(B.v)", TOTALS, "TO FIRST C"
    ),
    "counted": Query("(A+ B)", "A AS SUM(A.v) < 6", "MATCH_NUMBER() AS n, LISTAGG(A.k) AS a", "TO LAST B"),
    "all rows": Query(
        "(A B+ C)", "B AS B.v > A.v AND COUNT(B.d) < 3", "SUM(v) AS total, FINAL SUM(v) AS whole", rows="ALL ROWS"
    ),
    "overlapping": Query("(A {- X* -} B)", "A AS A.v < 3, B AS B.v = A.v", "A.ts AS a, B.ts AS b", "TO NEXT ROW"),
}


@some.composite
def tables(draw: some.DrawFn) -> Rows:
    small, rows = some.none() | some.integers(0, 5), []
    seconds = 0
    for _ in range(draw(some.integers(0, 24))):
        seconds += draw(some.sampled_from([0, 1, 1, 3]))
        v = draw(small)
        d = draw(some.none() | some.sampled_from([0.0, -0.0, 1.5, 2.5, float("nan"), 1e300]))
        t = draw(some.none() | some.integers(-128, 127))
        at = draw(some.none() | some.just(START + datetime.timedelta(milliseconds=draw(some.integers(0, 3)))))
        yes = draw(some.none() | some.booleans())
        b = draw(some.none() | some.sampled_from([0, 1, 2, 3, 2**62]))
        ts = START + datetime.timedelta(seconds=seconds)
        rows.append((draw(some.sampled_from("xxy")), v, b, t, d, yes, at, ts))
    return rows


def node_of(query: Query) -> MatchRecognize:
    relation: Any = planned(query.text, {"t": SmallTable(COLUMNS, [])})
    while not isinstance(relation, MatchRecognize):
        relation = relation.input
    # As it comes to a slot, where functions are other objects.
    node: MatchRecognize = cloudpickle.loads(cloudpickle.dumps(relation))
    return node


def batches(node: MatchRecognize, table: Rows, cuts: Sequence[int]) -> Iterator[tuple[ColumnBatch, int]]:
    """Parts of a table, each with the watermark behind it."""
    names = [each.name for each in COLUMNS]
    indexes = [names.index(each.name) for each in node.input.columns]
    for start, end in itertools.pairwise(sorted({0, *(cut for cut in cuts if cut < len(table)), len(table)})):
        rows = [tuple(row[index] for index in indexes) for row in table[start:end]]
        times = [int((row[-1] - datetime.datetime(1970, 1, 1)).total_seconds() * 1000) for row in table]
        batch = batch_of(inserts(rows), node.input.columns)
        yield ColumnBatch(batch.data, np.array(times[start:end], np.int64)), min([*times[end:], 1 << 60]) - 1


def run(query: Query, table: Rows, cuts: Sequence[int], restarts: bool) -> list[Any]:
    """Results, partial matches as plain data, and counts after each watermark."""
    node = node_of(query)
    operation = ColumnOperator(factories_of(node)[0])
    harness = OperatorHarness(operation, keeps_columns=True)
    steps: list[Any] = []
    for batch, watermark in batches(node, table, cuts):
        harness.operator.process_columns(batch)
        harness.watermark(watermark)
        steps.append(outcome(harness))
        if restarts:
            harness = OperatorHarness(operation, keeps_columns=True, restored=[harness.snapshot()])
    harness.end_input()
    return [*steps, outcome(harness)]


def outcome(harness: OperatorHarness) -> Any:
    operator: Any = harness.operator
    results = [
        (row, None if each.timestamps is None else int(each.timestamps[index]))
        for each in harness.elements()
        if isinstance(each, ColumnBatch)
        for index, row in enumerate(map(str, zip(*(column.to_pylist() for column in each.data.columns))))
    ]
    # Of different keys, results of the same time have no order.
    results.sort(key=lambda result: (result[1], result[0][:4]))
    metrics = {name: count for name, count in operator.metrics().items() if name.startswith(("partial", "condition"))}
    return results, {key: plain(stored) for key, stored in operator.runs.table.items()}, metrics


def plain(stored: Any) -> Any:
    """What was taken, and in which order; the numbers of events count only as far as they order them."""
    runs = KeyRuns.of(stored)
    rows: list[tuple[Any, ...]] = []
    tops = runs.flat_runs(rows, {})
    numbers = sorted({row[4] for row in rows})
    return len(runs.runs), tops, [str((*row[:4], numbers.index(row[4]), *row[5:])) for row in rows]


class Counted:
    """The machine code of the loop, or its plain body, and how often it was called."""

    def __init__(self, form: str, patch: pytest.MonkeyPatch) -> None:
        use_form(form, patch)
        self.calls, loop = 0, compiled_matching.match_rows._native

        def counted(*arguments: Any) -> Any:
            self.calls += 1
            assert loop is not None
            return loop(*arguments)

        patch.setattr(compiled_matching.match_rows, "_native", counted)


def assert_same(query: Query, form: str, table: Rows, cuts: Sequence[int], restarts: bool, read_rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form("none", patch)
        expected = run(query, table, cuts, restarts)
    with pytest.MonkeyPatch.context() as patch:
        loop = Counted(form, patch)
        patch.setattr(compiled_matching, "_READ_ROWS", read_rows)
        patch.setattr(compiled_matching, "_READ_FOR_ROW", 0)
        assert run(query, table, cuts, restarts) == expected
        assert loop.calls or not table


@pytest.mark.parametrize("form", ["compiled", "plain"])
@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=12, deadline=None)
@given(
    table=tables(), cuts=some.lists(some.integers(1, 23), max_size=4), restarts=some.booleans(), short=some.booleans()
)
def test_matches_states_and_counts(
    name: str, form: str, table: Rows, cuts: list[int], restarts: bool, short: bool
) -> None:
    assert_same(QUERIES[name], form, table, cuts, restarts, 1 if short else 100)


def rows_of(values: Sequence[int]) -> Rows:
    return [
        ("x", value, value, None, None, None, None, START + datetime.timedelta(seconds=n))
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize("name", ["average", "in time, next"])
def test_state_in_rocksdb(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows_of([1, 2, 0, 9, 4, 1, 1, 9, 2, 2, 4, 1, 9, 0])
    results = {}
    for form, backend in (("none", "hashmap"), ("compiled", "rocksdb")):
        use_form(form, monkeypatch)
        node = node_of(QUERIES[name])
        operation = ColumnOperator(factories_of(node)[0])
        harness = OperatorHarness(operation, keeps_columns=True, backend=choice_of(backend))
        elements: list[Any] = []
        for batch, watermark in batches(node, table, [3, 4, 9, 12]):
            harness.operator.process_columns(batch)
            harness.watermark(watermark)
            elements += harness.elements()
            snapshots = [harness.snapshot()]
            harness = OperatorHarness(operation, keeps_columns=True, backend=choice_of(backend), restored=snapshots)
        harness.end_input()
        elements += harness.elements()
        results[backend] = [each.data.to_pylist() for each in elements if isinstance(each, ColumnBatch)]
    assert results["hashmap"] == results["rocksdb"] != []


@pytest.mark.parametrize("most_links", [1 << 22, 500])
def test_partial_matches_that_branch_at_every_row(most_links: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The loop needs more room than it has at first; where it would need too much, rows are matched one by one.
    monkeypatch.setattr(compiled_matching, "_MOST_LINKS", most_links)
    query = Query("(A+ B)", "B AS B.v = 9 AND SUM(A.v) > 3", TOTALS, "TO NEXT ROW")
    assert_same(query, "compiled", rows_of([1, 2, 0] * 14 + [9]), [20, 40], False, 100)


@pytest.mark.parametrize("form", ["compiled", "none"])
def test_a_match_that_skips_to_its_own_begin_fails(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    with pytest.raises(StateError, match="Could not skip to first element of a match"):
        run(Query("(A B)", "B AS B.v > A.v", "A.v AS a", "TO FIRST A"), rows_of([1, 2]), [], False)


@pytest.mark.parametrize("form", ["compiled", "none"])
def test_partial_matches_of_earlier_savepoints_go_on(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    node = node_of(Query("(A B)", "A AS A.v < 3, B AS B.v > A.v", "A.v AS a, B.v AS b"))
    operation = ColumnOperator(factories_of(node)[0])
    harness = OperatorHarness(operation, keeps_columns=True)
    results: list[Any] = []
    for batch, watermark in batches(node, rows_of([1, 2]), [1]):
        harness.operator.process_columns(batch)
        harness.watermark(watermark)
        results, states, metrics = outcome(harness)
        assert metrics["partialMatches.B"] == len(states)
        operator: Any = harness.operator
        operator.runs.table.update({key: (*run[:4], 7, None, None) for key, run in operator.runs.table.items()})
        harness = OperatorHarness(operation, keeps_columns=True, restored=[harness.snapshot()])
    assert [row for row, _ in results] == ["('x', 1, 2)"]


NOT_IN_THE_LOOP = {
    "texts": Query("(A B)", "B AS B.k = A.k", "B.v AS b"),
    "decimals": Query("(A B)", "B AS B.v < CAST(A.v AS DECIMAL(5, 1))", "B.v AS b"),
    "divisions": Query("(A B)", "B AS B.v / 2 < A.v", "B.v AS b"),
    "spreads": Query("(A+ B)", "A AS STDDEV_POP(A.v) < 2", "B.v AS b"),
}


@pytest.mark.parametrize("name", NOT_IN_THE_LOOP)
def test_conditions_that_the_loop_does_not_know(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Counted("compiled", monkeypatch)
    assert any(results for results, _, _ in run(NOT_IN_THE_LOOP[name], rows_of([1, 1, 5, 2, 6, 8, 2, 9]), [3], False))
    assert loop.calls == 0
