"""Rows of matches, and what they show of rows around them, are those of a model that tries every way to match."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.operators.patterns.conditions import OfEvent
from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Pattern,
    Quantifier,
    Skip,
    SkipKind,
    Stage,
)
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.types.logical import IntType, TimestampType, VarCharType
from tests.harness.sql_plans import SmallTable, changes_from, planned
from tests.unit.operators.patterns.brute_force import Found, all_matches

COLUMNS = [
    Column("k", VarCharType()),
    Column("v", IntType()),
    Column("ts", TimestampType(3), TimeAttribute.ROWTIME),
]
UP, DOWN, LARGE = "{0}.v > PREV({0}.v)", "{0}.v < PREV({0}.v, 2)", "{0}.v >= 3"
Row = tuple[int, int | None, int | None]
HOLDS = {
    UP: lambda row: row[1] is not None and row[0] > row[1],
    DOWN: lambda row: row[2] is not None and row[0] < row[2],
    LARGE: lambda row: row[0] >= 3,
}
MORE = Quantifier(1, None, inner=Contiguity.STRICT)
GREEDY = Quantifier(1, None, is_greedy=True, inner=Contiguity.STRICT)


def stage(name: str, condition: str, quantifier: Quantifier | None = None) -> Stage:
    holds = HOLDS[condition]
    return Stage(name, OfEvent(holds), quantifier=quantifier or Quantifier())


def shapes(a: str, b: str, c: str) -> dict[str, tuple[Element, ...]]:
    """Patterns whose matches that begin together are completed by different rows."""
    either = (stage("A", a),), (stage("B", b),)
    return {
        "A B": (stage("A", a), stage("B", b)),
        "A+? B": (stage("A", a, MORE), stage("B", b)),
        "A+ B": (stage("A", a, GREEDY), stage("B", b)),
        "(A | B) C": (Alternatives(either), stage("C", c)),
        "(A | B)+? C": (Alternatives(either, quantifier=MORE), stage("C", c)),
        "(A | B)+ C": (Alternatives(either, quantifier=GREEDY), stage("C", c)),
        "(A C | B) {- X* -} D": (
            Alternatives(((stage("A", a), stage("C", c)), (stage("B", b),))),
            Stage("D", None, Contiguity.RELAXED_ANY),
        ),
        "PERMUTE(A, B, C)": (
            Alternatives(
                tuple(
                    (first, Alternatives(((second, third), (third, second))))
                    for first, second, third in (
                        (stage("A", a), stage("B", b), stage("C", c)),
                        (stage("B", b), stage("A", a), stage("C", c)),
                        (stage("C", c), stage("A", a), stage("B", b)),
                    )
                )
            ),
        ),
    }


def chosen(pattern: Pattern, rows: list[Any]) -> Iterator[Found]:
    """The matches that are left when each skips what is behind it: those that begin first, of them the first one."""
    left = all_matches(pattern, rows, list(range(len(rows))))
    while left:
        # Of those that are completed together, that of the alternative that was written first.
        match = min(left, key=lambda each: (each.first, each.completed))
        yield match
        left = [each for each in left if each.first > match.events[-1][1]]


def expected(name: str, conditions: tuple[str, str, str], table: list[tuple[str, int]]) -> list[tuple[Any, ...]]:
    skip = Skip(SkipKind.PAST_LAST)
    pattern = Pattern(shapes(*conditions)[name], None, skip)
    results = []
    for key in "xy":
        values = [value for own, value in table if own == key]
        rows = [
            (value, *(values[n - back] if n >= back else None for back in (1, 2))) for n, value in enumerate(values)
        ]
        for number, match in enumerate(chosen(pattern, rows), 1):
            events = [(stage, rows[index]) for stage, index in match.events]
            total = sum(row[0] for _, row in events)
            for count, (kind, row) in enumerate(events, 1):
                so_far = sum(row[0] for _, row in events[:count])
                of_a = [row[0] for each, row in events[:count] if each == "A"]
                mean = int(sum(of_a) / len(of_a)) if of_a else None
                results.append((key, number, kind, events[0][0], row[1], so_far, total, mean, row[0]))
    return results


@pytest.mark.parametrize("name", shapes(UP, DOWN, LARGE))
@pytest.mark.parametrize("is_streaming", [True, False])
@settings(max_examples=25, deadline=None)
@given(
    some.permutations([UP, DOWN, LARGE]),
    some.lists(some.tuples(some.sampled_from("xy"), some.integers(0, 5)), max_size=14),
    some.integers(1, 5),
)
def test_all_rows(
    name: str, is_streaming: bool, conditions: list[str], table: list[tuple[str, int]], size: int
) -> None:
    start = datetime.datetime(2024, 1, 1)
    rows = [(key, value, start + datetime.timedelta(seconds=n)) for n, (key, value) in enumerate(table)]
    names = [each for each in "ABC" if each in name.replace("PERMUTE", "")]
    definitions = ", ".join(f"{each} AS {conditions['ABC'.index(each)].format(each)}" for each in names)
    query = f"""SELECT k, n, kind, begins, previous, so_far, total, mean, v FROM t MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts
        MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS kind, FIRST(CLASSIFIER()) AS begins, PREV(v) AS previous,
            SUM(v) AS so_far, FINAL SUM(v) AS total, AVG(A.v) AS mean
        ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ({name}) DEFINE {definitions})"""
    relation = planned(query, {"t": SmallTable(COLUMNS, rows)}, is_streaming)
    results = [row for _, row in changes_from(relation, size)]
    by_model = expected(name, (conditions[0], conditions[1], conditions[2]), table)
    assert [row for key in "xy" for row in results if row[0] == key] == by_model


def test_next_in_batch_mode() -> None:
    start = datetime.datetime(2024, 1, 1)
    rows = [("x", value, start + datetime.timedelta(seconds=n)) for n, value in enumerate([1, 3, 2, 5, 4, 4])]
    query = """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES PEAK.v AS peak, NEXT(PEAK.v) AS after, NEXT(B.v, 2) AS two_behind
        PATTERN (PEAK B) DEFINE PEAK AS PEAK.v > PREV(PEAK.v) AND PEAK.v > NEXT(PEAK.v))"""
    relation = planned(query, {"t": SmallTable(COLUMNS, rows)}, is_streaming=False)
    assert [row for _, row in changes_from(relation, 2)] == [("x", 3, 2, 4), ("x", 5, 4, None)]


AGGREGATES = [
    "LISTAGG(CAST(v AS STRING))",
    "SUM(A.v)",
    "AVG(A.v)",
    "COUNT(A.v)",
    "MAX(A.v)",
    "STDDEV_POP(A.v)",
    "COUNT(*)",
    "LISTAGG(CAST(v AS STRING))",
]


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_aggregates_of_long_matches_do_not_depend_on_batches(aggregate: str) -> None:
    """Accumulators go on from row to row; runs branch at every row."""
    start = datetime.datetime(2024, 1, 1)
    rows = [("x", n * 7 % 5 + n, start + datetime.timedelta(seconds=n)) for n in range(40)]
    query = f"""SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES FIRST(A.v) AS a, {aggregate} AS outcome, B.v AS b
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A+? {{- X* -}} B)
        DEFINE A AS {aggregate} IS NOT NULL, B AS B.v = 37 AND {aggregate} IS NOT NULL)"""
    results = []
    for size in (1, 7, 40):
        relation = planned(query, {"t": SmallTable(COLUMNS, rows)})
        results.append([row for _, row in changes_from(relation, size)])
    assert len(results[0]) > 5 and results[0] == results[1] == results[2]
