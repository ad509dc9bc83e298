"""Queries in batch mode: Spark's plan, slots and the last state of a stream give the same rows.

Slots are operators run in this process; the plans of several queries are one job of Spark's.
"""

from __future__ import annotations

import datetime
import json
import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.binding.spark_rows import SparkRows
from funke.engine.sql.spark_plans.carried_columns import carried_schema
from funke.engine.sql.spark_plans.spark_frames import frame_of
from funke.engine.sql.spark_plans.task_code import PlanSettings, TaskCode
from funke.engine.sql.statements.job_plans import planned_rows
from funke.engine.sql.table_rows import to_batches
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import TableFunction, udf, udtf
from tests.harness.local_jobs import changes_in, rows_of
from tests.harness.sql_changelogs import folded
from tests.unit.sql.operators.test_reference_changelogs import RECORDED, rows
from tests.unit.sql.operators.test_window_queries import QUERIES as WINDOW_QUERIES
from tests.unit.sql.operators.test_window_queries import ROWS as CLICKS
from tests.unit.sql.operators.test_window_queries import START

pytestmark = pytest.mark.spark

MINE = [
    # What looks at single rows.
    "SELECT id + 1, UPPER(name), CASE WHEN v > 3 THEN 'much' END FROM t WHERE k = 1 OR name = 'a'",
    "SELECT id, twice(v), word FROM t, LATERAL TABLE(words(name || ' x')) AS w(word)",
    "SELECT id, item FROM (VALUES (1, ARRAY[1, 2]), (2, ARRAY[3])) AS a(id, many) CROSS JOIN UNNEST(many) AS u(item)",
    # Values of all types are carried, and sorted with NULLs where they belong.
    "SELECT * FROM kinds",
    "SELECT i, s FROM kinds ORDER BY s DESC, i",
    "SELECT ts, i FROM kinds ORDER BY ts NULLS LAST, i DESC",
    "SELECT tm, nano, i FROM kinds ORDER BY tm DESC NULLS LAST, nano, i",
    "SELECT f, i FROM kinds ORDER BY f DESC, i OFFSET 1 ROW",
    "SELECT money, d FROM kinds ORDER BY money, d DESC LIMIT 2",
    "SELECT i FROM kinds ORDER BY i DESC OFFSET 1 ROW FETCH NEXT 1 ROW ONLY",
    "SELECT s, ts, tm, nano, money, d, yes, COUNT(*) FROM kinds GROUP BY s, ts, tm, nano, money, d, yes",
    "SELECT yes, MIN(ts), MAX(tm), MIN(nano), MAX(money), MIN(d), MAX(s), MAX(yes), COUNT(DISTINCT nano) FROM kinds "
    "GROUP BY yes",
    # Integers wrap around.
    "SELECT SUM(big), AVG(big), SUM(small), AVG(small), SUM(small) FILTER (WHERE big > 0) FROM wide",
    "SELECT small, SUM(big) FROM wide GROUP BY small",
    # No rows.
    "SELECT COUNT(*), SUM(v), LISTAGG(name), COUNT(DISTINCT k) FROM t WHERE id > 100",
    "SELECT COUNT(*), SUM(v) FROM t WHERE id > 100",
    "SELECT k, COUNT(*) FROM t WHERE id > 100 GROUP BY k",
    # Sets.
    "SELECT k, name FROM t UNION SELECT v, name FROM t",
    "SELECT k FROM t INTERSECT SELECT v FROM t",
    "SELECT name FROM t EXCEPT SELECT 'a'",
    "SELECT k FROM t WHERE k IN (1, 2) UNION ALL SELECT COUNT(*) FROM t",
    # Functions of users.
    "SELECT k, joined(name) FROM t GROUP BY k",
    "SELECT joined(name), COUNT(*) FROM t WHERE id > 100",
    "SELECT w, COUNT(*) AS n FROM (SELECT twice(k) AS w FROM t) GROUP BY w HAVING COUNT(*) > 1",
    # Orders of results.
    "SELECT k, COUNT(*) AS n, SUM(d) FROM t GROUP BY k ORDER BY n DESC, k LIMIT 3",
    "SELECT name, total FROM (SELECT name, SUM(v) AS total FROM t GROUP BY name) WHERE total > 1 ORDER BY total, name",
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
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 123000)
UTC = datetime.timezone.utc
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


@dataclass(frozen=True)
class Packed:
    """A step that makes rows of any columns pairs: the number of the query, and the row as bytes."""

    number: int
    relation: Relation

    def run(self, batches: Iterator[ColumnBatch], task: TaskInfo) -> Iterator[ColumnBatch]:
        for batch in batches:
            packed = [(self.number, pickle.dumps(row)) for row in rows_of(batch.data, self.relation)]
            yield from to_batches(PAIRS, packed)


PAIRS = (Column("query", DataTypes.INT()), Column("row", DataTypes.BYTES()))


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


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    lines = (
        {"name": name, "ts": str(START + datetime.timedelta(seconds=seconds, milliseconds=1))[:23], "amount": amount}
        for name, seconds, amount in CLICKS
    )
    (tmp_path / "clicks.json").write_text("\n".join(map(json.dumps, lines)))
    return str(tmp_path)


def test_spark_slots_and_streams_give_the_same_rows(spark: Any, clicks: str) -> None:
    recorded = (case["query"] for case in RECORDED["queries"])
    # Which row is the first of those that meet behind an exchange, nobody says.
    certain = (query for query in recorded if not ("FIRST_VALUE" in query and "FROM u" in query))
    queries = [*MINE, *WINDOW_QUERIES.values(), *certain]
    batch = environment(EnvironmentSettings.in_batch_mode(), clicks)
    streaming = environment(EnvironmentSettings.in_streaming_mode(), clicks)
    plans = [planned(batch, query, "spark") for query in queries]
    found = computed_by_spark(spark, plans)
    differences = []
    for number, query in enumerate(queries):
        is_ordered = "ORDER BY" in query and "OVER" not in query
        mine, slots = found[number], [row for _, row in changes_in(planned(batch, query, "slots"))]
        if not is_ordered:
            mine, slots = sorted(mine, key=repr), sorted(slots, key=repr)
            stream = folded(changes_in(planned(streaming, query, "auto")))
            # A stream says nothing before its first row.
            if not same(stream, mine, query) and "id > 100" not in query:
                differences.append(("stream", query, stream, mine))
        if not same(slots, mine, query):
            differences.append(("slots", query, slots, mine))
    assert not differences, "\n".join(map(str, differences))


def planned(t_env: TableEnvironment, query: str, mode: str) -> Relation:
    t_env.get_config().set("funke.table.batch-plan", mode)
    return planned_rows(t_env._session, t_env.sql_query(query)._relation)


def computed_by_spark(spark: Any, plans: list[Relation]) -> dict[int, list[tuple[Any, ...]]]:
    """The rows of all plans, by their numbers."""
    found: dict[int, list[tuple[Any, ...]]] = {number: [] for number in range(len(plans))}
    numbered = list(enumerate(plans))
    # Several in one job cost little more than one; all of them would start as many workers as Spark has places.
    for start in range(0, len(plans), 6):
        for number, row in joined_frame(spark, numbered[start : start + 6]).collect():
            found[number].append(pickle.loads(row))
    return found


def joined_frame(spark: Any, plans: list[tuple[int, Relation]]) -> Any:
    settings, schema = PlanSettings(1), from_arrow_schema(carried_schema(PAIRS))
    frames = []
    for number, plan in plans:
        assert isinstance(plan, SparkRows)
        code = TaskCode.of(plan.columns, (Packed(number, plan),), PAIRS, settings)
        frames.append(frame_of(spark, plan.input, settings).mapInArrow(code, schema))
    return reduce(lambda left, right: left.union(right), frames)


def same(left: Any, right: Any, query: str) -> bool:
    """Whether values are equal; fractions up to the order in which they were added."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-12) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, str) and isinstance(right, str) and any(name in query for name in UNORDERED):
        return sorted(left) == sorted(right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if isinstance(left, list) and any(name in query for name in UNORDERED):
            left, right = sorted(left, key=repr), sorted(right, key=repr)
        return len(left) == len(right) and all(same(one, other, query) for one, other in zip(left, right))
    return bool(left == right)
