"""Queries within expressions, and LATERAL: their changes and plans; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.data_types import DataTypes
from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from funke.table.expressions import col
from tests.harness.sql_changelogs import folded
from tests.harness.sql_plans import RunningPlan, SmallTable, changes_from, planned

RECORDED = json.loads((Path(__file__).parent / "reference_subqueries.json").read_text())
CASES = RECORDED["cases"]
# What the reference answers otherwise than SQL says, and why.
KNOWN = {
    "SELECT k, v, v IN (SELECT v FROM cr r WHERE r.k = l.k) AS m FROM cl l": "NULL IN (no rows) is NULL there",
    "SELECT k, v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k OR r.v = l.v)": "rows with a NULL are lost there",
}


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE g (side STRING, op STRING, k STRING, v INT) WITH ('connector' = 'datagen')")
    for side in ("l", "r"):
        rows = f"FROM g WHERE side = '{side}'"
        columns = "k, v, COALESCE(v, 0) AS a"
        environment.execute_sql(f"CREATE TEMPORARY VIEW {side} AS SELECT {columns} {rows} AND op = '+I'")
        kinds = "MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']"
        changes = f"FROM_CHANGELOG((SELECT op, k, v {rows}), DESCRIPTOR(op), {kinds})"
        environment.execute_sql(f"CREATE TEMPORARY VIEW c{side} AS SELECT {columns} FROM {changes}")
    return environment


@pytest.mark.parametrize("case", [each for each in CASES if each["query"] not in KNOWN], ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    plan = RunningPlan(planned_rows(t_env._session, t_env.sql_query(case["query"])._relation))
    rows = [dict(zip(("side", "op", "k", "v"), each)) for each in RECORDED["changes"]]
    changes = [[sign, [_text(each) for each in row]] for row in rows for sign, row in plan.feed(row)]
    assert _comparable(changes, case) == _comparable(case["changes"], case)


def _text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _comparable(changes: list[Any], case: dict[str, Any]) -> Any:
    """What is certain: the matches of a row come in any order in Flink, and so do rows on two ways to one join."""
    joins = sum("Join(" in line for line in case["plan"])
    if case["is_race"] or joins >= case["query"].count("SELECT"):
        counts = Counter(tuple(row) for sign, row in changes if sign[0] == "+")
        counts.subtract(tuple(row) for sign, row in changes if sign[0] == "-")
        return +counts
    if "LeftOuterJoin" in str(case["plan"]):
        return Counter((sign, *row) for sign, row in changes)
    width = 2 if case["query"].startswith("SELECT k, v ") else 1
    ordered = sorted(changes, key=lambda change: change[1][:width])
    return {key: [*rows] for key, rows in groupby(ordered, lambda change: tuple(change[1][:width]))}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_plans_have_the_nodes_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    plan = t_env.explain_sql(case["query"], ExplainDetail.CHANGELOG_MODE)
    physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
    assert _nodes(physical) == _nodes("\n".join(case["plan"]))


def _nodes(plan: str) -> list[str]:
    """The nodes with the kinds of joins, but for those that only choose columns."""
    names = re.findall(r"^[ :+-]*(\w+)\((?:joinType=\[(\w+)\])?", plan, re.MULTILINE)
    return [" ".join(each) for each in names if each[0] not in ("Calc", "TableSourceScan", "Values")]


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        ("v IN (SELECT v FROM r)", "BOOLEAN"),
        ("a IN (SELECT a FROM r)", "BOOLEAN NOT NULL"),
        ("a NOT IN (SELECT v FROM r)", "BOOLEAN"),
        ("EXISTS (SELECT v FROM r)", "BOOLEAN NOT NULL"),
        ("(SELECT COUNT(*) FROM r WHERE r.k = l.k)", "BIGINT"),
        ("(SELECT a FROM r)", "INT"),
        ("COALESCE((SELECT MAX(v) FROM r), 0)", "INT NOT NULL"),
        ("v > ANY (SELECT v FROM r)", "BOOLEAN"),
        ("a > ALL (SELECT a FROM r)", "BOOLEAN NOT NULL"),
    ],
)
def test_types_are_those_of_flink(t_env: TableEnvironment, value: str, data_type: str) -> None:
    schema = t_env.sql_query(f"SELECT k, {value} AS m FROM l").get_resolved_schema()
    assert str(schema) == f"(\n  `k` STRING,\n  `m` {data_type}\n)"


# What SQLite says of the same queries

_COLUMNS = tuple(Column(name, DataTypes.INT()) for name in ("id", "x", "y"))
_VALUES = st.none() | st.integers(0, 3)
_ROWS = st.lists(st.tuples(_VALUES, _VALUES), max_size=6)
_FILTERS = st.sampled_from(
    ["", "WHERE u.y > 1", "WHERE u.x = t.x", "WHERE u.y >= t.y", "WHERE u.x = t.y AND u.y <> t.x", "WHERE t.y IS NULL"]
)
_RANKINGS = st.sampled_from(["t.x", "t.y", "t.x + 1"])


@st.composite
def conditions(draw: st.DrawFn) -> str:
    """Conditions with queries that become semi and anti joins."""
    negation = draw(st.sampled_from(["", "NOT "]))
    where = draw(_FILTERS)
    kind = draw(st.sampled_from(["in", "row", "exists"]))
    if kind == "exists":
        return f"{negation}EXISTS (SELECT * FROM u {where})"
    if kind == "row":
        return f"(t.x, t.y) {negation}IN (SELECT u.x, u.y FROM u {where})"
    return f"{draw(_RANKINGS)} {negation}IN (SELECT u.y FROM u {where})"


def of_sqlite(query: str, tables: dict[str, list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as database:
        for name, rows in tables.items():
            database.execute(f"CREATE TABLE {name} (id, x, y)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        return sorted(database.execute(query).fetchall(), key=repr)


def _numbered(left: list[Any], right: list[Any]) -> dict[str, list[tuple[Any, ...]]]:
    sides = (("t", left), ("u", right))
    return {name: [(number, *each) for number, each in enumerate(inputs)] for name, inputs in sides}


def check(query: str, left: list[Any], right: list[Any], is_streaming: bool, size: int) -> None:
    rows = _numbered(left, right)
    tables = {name: SmallTable(_COLUMNS, each) for name, each in rows.items()}
    result = folded(changes_from(planned(query, tables, is_streaming), size))
    expected = of_sqlite(query, rows)
    numbers = [tuple(int(each) if isinstance(each, bool) else each for each in row) for row in result]
    assert sorted(numbers, key=repr) == expected


@settings(deadline=None, max_examples=30)
@given(_ROWS, _ROWS, conditions(), conditions(), st.booleans(), st.sampled_from([1, 3, 100]))
def test_semi_and_anti_joins_give_what_sqlite_does(
    left: list[Any], right: list[Any], one: str, other: str, is_streaming: bool, size: int
) -> None:
    check(f"SELECT id FROM t WHERE {one} AND {other}", left, right, is_streaming, size)


@settings(deadline=None, max_examples=30)
@given(_ROWS, _ROWS, conditions(), conditions(), st.sampled_from([1, 100]))
def test_alternatives_give_what_sqlite_does(left: list[Any], right: list[Any], one: str, other: str, size: int) -> None:
    """Without rows to count a stream knows nothing, as in Flink; so these are batches."""
    query = f"SELECT id FROM t WHERE {one} OR {other}"
    # Flink counts the columns of one alone.
    assume("(t.x, t.y) NOT" not in query)
    check(query, left, right, False, size)


_NESTED = [
    "EXISTS (SELECT 1 FROM u WHERE u.x = t.x AND EXISTS (SELECT 1 FROM t AS w WHERE w.y = u.y AND w.x >= t.y))",
    "t.x NOT IN (SELECT u.y FROM u WHERE u.x IN (SELECT w.y FROM t AS w WHERE w.x <> t.y OR t.y IS NULL))",
    "t.y < (SELECT MAX(u.x) FROM u WHERE u.y IN (SELECT w.x FROM t AS w) AND u.x >= t.x)",
    "NOT EXISTS (SELECT 1 FROM u WHERE t.x IS NULL AND t.y >= (SELECT MIN(w.y) FROM t AS w))",
]


@settings(deadline=None, max_examples=20)
@given(_ROWS, _ROWS, st.sampled_from(_NESTED), st.booleans())
def test_queries_in_queries_give_what_sqlite_does(
    left: list[Any], right: list[Any], one: str, is_streaming: bool
) -> None:
    check(f"SELECT id FROM t WHERE {one}", left, right, is_streaming, 100)


_COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_OF_ROWS = st.sampled_from(["", "u.y > 1", "u.x = t.y"])


@settings(deadline=None, max_examples=40)
@given(_ROWS, _ROWS, _COMPARISONS, st.booleans(), _OF_ROWS)
def test_comparisons_with_all_values_are_those_of_single_rows(
    left: list[Any], right: list[Any], comparison: str, is_all: bool, where: str
) -> None:
    """SQLite has none: one is true if it is of some row, or is not false or unknown of any."""
    tables = _numbered(left, right)
    asked = f"t.x {comparison} {'ALL' if is_all else 'SOME'} (SELECT u.y FROM u {where and f'WHERE {where}'})"
    query = f"SELECT id FROM t WHERE {asked}"
    small = {name: SmallTable(_COLUMNS, each) for name, each in tables.items()}
    result = folded(changes_from(planned(query, small, is_streaming=False), 100))
    test = f"(t.x {comparison} u.y)"
    rows = f"EXISTS (SELECT 1 FROM u WHERE {where or '1'} AND {f'{test} IS NOT 1' if is_all else test})"
    expected = of_sqlite(f"SELECT id FROM t WHERE {'NOT ' if is_all else ''}{rows}", tables)
    assert sorted(result, key=repr) == expected


_SINGLE = st.sampled_from(["MAX(u.y)", "COUNT(*)", "COUNT(u.x)", "MIN(u.x) + 1", "SUM(u.y)"])


@settings(deadline=None, max_examples=30)
@given(_ROWS, _ROWS, _SINGLE, _FILTERS, st.sampled_from([1, 100]))
def test_single_values_are_those_of_sqlite(
    left: list[Any], right: list[Any], value: str, where: str, size: int
) -> None:
    check(f"SELECT id, (SELECT {value} FROM u {where}) AS m FROM t", left, right, False, size)


_TABLES = {
    "t": SmallTable(_COLUMNS, [(1, 1, 1), (2, 2, 2)]),
    "u": SmallTable(_COLUMNS, [(1, 1, 1), (2, 2, 2), (3, 1, 3)]),
}


@pytest.mark.parametrize("where", ["", "WHERE u.x = t.x"])
@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_single_value_of_several_rows(where: str, is_streaming: bool) -> None:
    plan = planned(f"SELECT id, (SELECT y FROM u {where}) AS m FROM t", _TABLES, is_streaming)
    with pytest.raises(TableException, match="SingleValueAggFunction received more than one element"):
        changes_from(plan, 100)


def test_a_single_value_that_changes() -> None:
    plan = planned("SELECT id, (SELECT MAX(y) FROM u GROUP BY id - id) AS m FROM t", _TABLES)
    assert folded(changes_from(plan, 1)) == [(1, 3), (2, 3)]


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_in_of_a_table(mode: str) -> None:
    t_env = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    for name in ("a", "b"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (k STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
        )
    a, b = t_env.from_path("a"), t_env.from_path("b")
    chosen = a.where(col("k").in_(b.select(col("k"))))
    assert "joinType=[LeftSemiJoin], where=[=(k, k0)]" in chosen.explain()
    assert str(a.select(col("v").in_(b.select(col("v"))).alias("m")).get_resolved_schema()) == "(\n  `m` BOOLEAN\n)"
    with pytest.raises(ValidationException, match=r"in\(STRING, ROW<`k` STRING, `v` INT> NOT NULL\)"):
        a.where(col("k").in_(b))
