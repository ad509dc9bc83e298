"""Queries in batch mode, with the tables that they are asked of, for those who compute them in several ways."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import TableFunction, udf, udtf
from tests.harness.case_files import read_case_file
from tests.harness.local_jobs import changes_in
from tests.harness.sql_changelogs import folded
from tests.unit.sql.operators.test_reference_changelogs import RECORDED, rows

# Those over a table that changes are left out: they are two of the others, one behind the other.
RECORDED_QUERIES = [case["query"] for case in RECORDED["queries"] if "FROM u" not in case["query"]]
JOIN_KINDS = ("INNER", "LEFT", "RIGHT", "FULL")
# What Spark itself does a part of: it carries, sorts, and aggregates.
OF_SPARK = [
    "SELECT * FROM kinds",
    "SELECT ts, i FROM kinds ORDER BY ts NULLS LAST, i DESC",
    "SELECT f, i FROM kinds ORDER BY f DESC, i OFFSET 1 ROW",
    "SELECT money, d FROM kinds ORDER BY money, d DESC OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY",
    "SELECT s, ts, tm, nano, money, d, yes, COUNT(*) FROM kinds GROUP BY s, ts, tm, nano, money, d, yes",
    "SELECT yes, MIN(ts), MAX(tm), MIN(nano), MAX(money), MIN(d), MAX(s), MAX(yes), COUNT(DISTINCT nano) FROM kinds "
    "GROUP BY yes",
    # Integers wrap around.
    "SELECT SUM(big), AVG(big), SUM(small), AVG(small), SUM(small) FILTER (WHERE big > 0) FROM wide",
    # No rows.
    "SELECT COUNT(*), SUM(v), COUNT(DISTINCT k) FROM t WHERE id > 100",
    # Sets.
    "SELECT k FROM t INTERSECT SELECT v FROM t",
    # Functions of users, and an order of what they give.
    "SELECT twice(k) AS w, joined(name), COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC, w LIMIT 3",
]
# Bitmaps are bytes to Spark: computed of rows, aggregated, carried from one step to the next, sorted beside, in sets.
_NUMBERS = "SELECT k, BITMAP_BUILD_AGG(v) AS b FROM t GROUP BY k"
_OF_BITMAPS = ", ".join(
    f"BITMAP_TO_STRING(BITMAP_{each}_AGG(b)), BITMAP_{each}_CARDINALITY_AGG(b)" for each in ("AND", "OR", "XOR")
)
BITMAPS = [
    "SELECT k, BITMAP_TO_STRING(BITMAP_BUILD_AGG(v)), BITMAP_BUILD_CARDINALITY_AGG(v) FROM t GROUP BY k",
    f"SELECT * FROM ({_NUMBERS})",
    f"SELECT {_OF_BITMAPS} FROM ({_NUMBERS})",
    f"SELECT COUNT(*), {_OF_BITMAPS} FROM (SELECT id, BITMAP_BUILD(ARRAY[v, id]) AS b FROM t) GROUP BY MOD(id, 2)",
    f"SELECT k, BITMAP_CARDINALITY(b), BITMAP_TO_ARRAY(b), CAST(b AS STRING) FROM ({_NUMBERS}) ORDER BY k LIMIT 3",
    f"SELECT BITMAP_TO_BYTES(b), k FROM ({_NUMBERS}) ORDER BY k DESC",
    "SELECT id, BITMAP_TO_STRING(BITMAP_OR(BITMAP_BUILD(ARRAY[v]), BITMAP_BUILD(ARRAY[k, 7]))), "
    "BITMAP_ANDNOT(BITMAP_BUILD(ARRAY[v, 1]), BITMAP_BUILD(ARRAY[k])) = BITMAP_BUILD(ARRAY[v]) FROM t ORDER BY id",
    f"SELECT BITMAP_TO_STRING(b), COUNT(*) FROM ({_NUMBERS}) GROUP BY b",
    f"SELECT b FROM ({_NUMBERS}) INTERSECT SELECT b FROM ({_NUMBERS})",
]
# The first rows of each key, for which frames without Spark have no form.
RANKS = [
    "SELECT k, id, n FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS n FROM t) WHERE n <= 2",
    "SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n FROM t) WHERE n = 1",
]
# Joins that Spark does: by keys of every type whose values it tells apart as tables do, and by conditions beside them.
_SOME = "(VALUES (1, 2), (3, 1), (4, CAST(NULL AS INT)), (9, 9)) AS b(x, y)"
_SAME = " AND ".join(f"a.{name} = b.{name}" for name in ("s", "ts", "tm", "nano", "money", "d", "yes"))
JOINS = [
    *(f"SELECT a.i, a.s, b.i, b.nano FROM kinds a {kind} JOIN kinds b ON {_SAME}" for kind in ("FULL", "INNER")),
    *(f"SELECT a.id, b.y FROM t a {kind} JOIN {_SOME} ON a.b = b.x AND a.id > 0 AND a.v > 3" for kind in JOIN_KINDS),
    f"SELECT a.id, a.name, b.x, b.y FROM t a FULL JOIN {_SOME} ON a.k + 1 = b.x AND a.v > b.y",
    f"SELECT a.id, a.name, b.x, b.y FROM t a LEFT JOIN {_SOME} ON a.v < b.y",
    "SELECT a.i, b.i FROM kinds a FULL JOIN kinds b ON a.s IS NOT DISTINCT FROM b.s AND a.i <> b.i",
    # Of sides that are computed, and into what is computed of it.
    "SELECT a.name, COUNT(*), SUM(b.v) FROM t a LEFT JOIN t b ON a.k = b.k AND a.id <> b.id GROUP BY a.name",
    "SELECT a.id, n, c.i FROM t a JOIN (SELECT v, COUNT(*) AS n FROM t GROUP BY v) b ON a.id = b.v LEFT JOIN kinds c "
    "ON n = c.i AND c.yes",
    "SELECT a.i, b.i FROM kinds a, kinds b",
    # Half of a join.
    "SELECT id, name FROM t WHERE id IN (SELECT v FROM t WHERE id > 2)",
    "SELECT a.id FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.v = a.id AND UPPER(b.name) < LOWER(a.name))",
    "SELECT id FROM t WHERE id NOT IN (SELECT v FROM t WHERE v IS NOT NULL)",
]
# Conditions that Spark does not know: its tasks run the operator of slots, or choose among the rows of an inner join.
_UNKNOWN = (
    "a.id = b.v AND UPPER(a.name) < LOWER(b.name)",
    "CHAR_LENGTH(a.name) > b.d",
    "a.k = b.k AND twice(a.v) > b.v",
)
JOINS_OF_TASKS = [
    f"SELECT a.id, a.name, b.id, b.name FROM t a {kind} JOIN t b ON {on}" for kind in JOIN_KINDS[1:] for on in _UNKNOWN
]
CHOSEN_JOIN = f"SELECT a.id, a.name, b.id, b.name FROM t a JOIN t b ON {_UNKNOWN[0]} AND a.v >= b.v"
# OVER windows that only batches have.
OVER = [
    "SELECT i, RANK() OVER (PARTITION BY yes ORDER BY f DESC) AS r, SUM(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING "
    "AND 2 FOLLOWING) AS n, NTILE(3) OVER w AS p, LEAD(s, 1, 'none') OVER w AS l FROM kinds WINDOW w AS (ORDER BY i)",
    "SELECT f, COUNT(*) OVER (ORDER BY ts NULLS LAST RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS n, "
    "MIN(money) OVER (PARTITION BY yes) AS m, MAX(nano) OVER (PARTITION BY s, d ORDER BY i DESC) AS x FROM kinds",
    # Of groups.
    "SELECT k, SUM(v) AS s, RANK() OVER (ORDER BY SUM(v) DESC) AS r, SUM(COUNT(*)) OVER (ORDER BY k) AS c, "
    "MAX(MIN(name)) OVER () AS l FROM t GROUP BY k HAVING COUNT(*) > 1 ORDER BY r, k",
]
MINE = [
    *OF_SPARK,
    # What looks at single rows.
    "SELECT id + 1, UPPER(name), CASE WHEN v > 3 THEN 'much' END FROM t WHERE k = 1 OR name = 'a'",
    "SELECT id, twice(v), word FROM t, LATERAL TABLE(words(name || ' x')) AS w(word)",
    "SELECT id, item FROM (VALUES (1, ARRAY[1, 2]), (2, ARRAY[3])) AS a(id, many) CROSS JOIN UNNEST(many) AS u(item)",
    # Orders.
    "SELECT i, s FROM kinds ORDER BY s DESC, i",
    "SELECT tm, nano, i FROM kinds ORDER BY tm DESC NULLS LAST, nano, i",
    "SELECT i FROM kinds ORDER BY i DESC OFFSET 1 ROW FETCH NEXT 1 ROW ONLY",
    "SELECT k, COUNT(*) AS n, SUM(d) FROM t GROUP BY k ORDER BY n DESC, k LIMIT 3",
    "SELECT name, total FROM (SELECT name, SUM(v) AS total FROM t GROUP BY name) WHERE total > 1 ORDER BY total, name",
    # Groups.
    "SELECT small, SUM(big) FROM wide GROUP BY small",
    "SELECT COUNT(*), SUM(v), LISTAGG(name), COUNT(DISTINCT k) FROM t WHERE id > 100",
    "SELECT k, COUNT(*) FROM t WHERE id > 100 GROUP BY k",
    "SELECT k, COUNT(*) FROM (SELECT id, LAST_VALUE(k) AS k FROM t GROUP BY id) GROUP BY k",
    "SELECT k, joined(name) FROM t GROUP BY k",
    "SELECT joined(name), COUNT(*) FROM t WHERE id > 100",
    "SELECT w, COUNT(*) AS n FROM (SELECT twice(k) AS w FROM t) GROUP BY w HAVING COUNT(*) > 1",
    *JOINS_OF_TASKS,
    # Sets.
    "SELECT k, name FROM t UNION SELECT v, name FROM t",
    "SELECT name FROM t EXCEPT SELECT 'a'",
    "SELECT k FROM t WHERE k IN (1, 2) UNION ALL SELECT COUNT(*) FROM t",
]
# In which order rows meet behind an exchange nobody says: of texts and lists only the parts are compared.
UNORDERED = ("LISTAGG(", "ARRAY_AGG(", "JSON_ARRAYAGG(")


KINDS = DataTypes.ROW(
    [
        DataTypes.FIELD("i", DataTypes.INT()),
        DataTypes.FIELD("s", DataTypes.STRING()),
        DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("tm", DataTypes.TIME(3)),
        DataTypes.FIELD("nano", DataTypes.TIMESTAMP_LTZ(9)),
        DataTypes.FIELD("money", DataTypes.DECIMAL(20, 3)),
        DataTypes.FIELD("d", DataTypes.DATE()),
        DataTypes.FIELD("f", DataTypes.DOUBLE()),
        DataTypes.FIELD("yes", DataTypes.BOOLEAN()),
        DataTypes.FIELD("raw", DataTypes.BYTES()),
        DataTypes.FIELD("many", DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.TIMESTAMP(3)))),
        DataTypes.FIELD("inner", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.TIME(0))])),
    ]
)
# With numbers alone: lists and first values depend on the order of rows, which batches do not have.
WINDOW_QUERIES = [
    case.record.body
    for case in read_case_file(Path(__file__).parents[1] / "sql" / "cases" / "window_queries.case").cases()
    if not re.search(r"_VALUE\(|LISTAGG\(|RANK\(", case.record.body)
]
START = datetime.datetime(2024, 5, 1, 10)
# Names, seconds and amounts.
CLICKS = [
    ("ann", 1, 10),
    ("bob", 2, 5),
    ("ann", 4.5, None),
    ("ann", 3, 7),
    ("bob", 11, 1),
    ("ann", 12, 3),
    ("ann", 12, 4),
    ("bob", 25, 9),
]
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 123000)
UTC = datetime.UTC
INSTANT = NOON.replace(tzinfo=UTC)
SECOND = NOON.time().replace(microsecond=0)
HALF = Decimal("1.5")
KIND_ROWS = [
    (1, "ß", NOON, NOON.time(), INSTANT, HALF, NOON.date(), 1.5, True, b"\x00", {"a": [NOON]}, (SECOND,)),
    (2, "", NOON, None, INSTANT.replace(year=1960), -HALF, None, -0.5, False, b"", {}, (None,)),
    (3, None, None, SECOND.replace(hour=1), None, None, NOON.date(), None, None, None, None, None),
    (4, "ß", NOON, NOON.time(), INSTANT, HALF, NOON.date(), 2.5, True, b"z", {"b": None}, None),
]
WIDE = DataTypes.ROW([DataTypes.FIELD("big", DataTypes.BIGINT()), DataTypes.FIELD("small", DataTypes.TINYINT())])
WIDE_ROWS = [(2**63 - 1, 127), (2**63 - 5, 127), (-3, -128), (-(2**63), None), (None, 127)]


@udf(result_type=DataTypes.INT())
def twice(number: int | None) -> int | None:
    return None if number is None else number * 2


class Words(TableFunction):
    """The words of a text."""

    def eval(self, *args: Any) -> Iterator[str]:
        yield from (args[0] or "").split()


class Joined(AggregateFunction):
    """All names of a group."""

    def create_accumulator(self) -> list[str]:
        return []

    def accumulate(self, accumulator: list[str], *args: Any) -> None:
        accumulator.append(str(args[0]))

    def get_value(self, accumulator: list[str]) -> str:
        return "+".join(sorted(accumulator))

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.STRING())

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


def environment(settings: EnvironmentSettings, clicks: str) -> TableEnvironment:
    """The tables of all queries."""
    t_env = TableEnvironment.create(settings)
    t_type = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("k", DataTypes.INT()),
            DataTypes.FIELD("name", DataTypes.STRING()),
            DataTypes.FIELD("v", DataTypes.INT()),
            DataTypes.FIELD("d", DataTypes.DOUBLE()),
            DataTypes.FIELD("p", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("b", DataTypes.BIGINT()),
        ]
    )
    t_env.create_temporary_view("t", t_env.from_elements(rows(), t_type))
    t_env.create_temporary_view("kinds", t_env.from_elements(KIND_ROWS, KINDS))
    t_env.create_temporary_view("wide", t_env.from_elements(WIDE_ROWS, WIDE))
    t_env.create_temporary_system_function("twice", twice)
    t_env.create_temporary_system_function("words", udtf(Words(), result_types=[DataTypes.STRING()]))
    t_env.create_temporary_system_function("joined", Joined())
    t_env.execute_sql(f"""
        CREATE TABLE clicks (name STRING, ts TIMESTAMP(3), amount INT, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{clicks}')
    """)
    return t_env


def clicks_in(folder: Path) -> str:
    """Writes the rows that windows are made of."""
    lines = (
        {"name": name, "ts": str(START + datetime.timedelta(seconds=seconds, milliseconds=1))[:23], "amount": amount}
        for name, seconds, amount in CLICKS
    )
    (folder / "clicks.json").write_text("\n".join(map(json.dumps, lines)))
    return str(folder)


def differences(
    queries: list[str], folder: Path, compute: Callable[[SparkRows], list[tuple[Any, ...]]]
) -> list[tuple[str, ...]]:
    """The queries for which Spark's plan, slots and the last state of a stream do not give the same rows."""
    clicks = clicks_in(folder)
    batch = environment(EnvironmentSettings.in_batch_mode(), clicks)
    streaming = environment(EnvironmentSettings.in_streaming_mode(), clicks)
    results = []
    for query in queries:
        plan = planned(batch, query, "spark")
        assert isinstance(plan, SparkRows)
        mine, slots = compute(plan), [row for _, row in changes_in(planned(batch, query, "slots"))]
        # A stream has no order, and says nothing before its first row.
        if "ORDER BY" not in query or "OVER" in query:
            mine, slots = sorted(mine, key=repr), sorted(slots, key=repr)
            stream = mine if query in OVER else folded(changes_in(planned(streaming, query, "auto")))
            if not is_same(stream, mine, query) and "id > 100" not in query:
                results.append(("stream", query, str(stream), str(mine)))
        if not is_same(slots, mine, query):
            results.append(("slots", query, str(slots), str(mine)))
    return results


def planned(t_env: TableEnvironment, query: str, mode: str) -> Relation:
    t_env.get_config().set("funke.table.batch-plan", mode)
    return planned_rows(t_env._session, t_env.sql_query(query)._relation)


def is_same(left: Any, right: Any, query: str) -> bool:
    """Whether values are equal; fractions up to the order in which they were added."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-12) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, str) and isinstance(right, str) and any(name in query for name in UNORDERED):
        return sorted(left) == sorted(right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if isinstance(left, list) and any(name in query for name in UNORDERED):
            left, right = sorted(left, key=repr), sorted(right, key=repr)
        return len(left) == len(right) and all(is_same(one, other, query) for one, other in zip(left, right))
    return bool(left == right)
