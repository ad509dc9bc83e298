"""Watermarks stand as finely among rows as somebody looks at them."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Relation, inputs_of
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK, WatermarkStep
from funke.engine.sql.rules.ranks import with_ranks
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import planned_inserts
from funke.engine.sql.statements.plans.stored_plans import insert_in
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.sql_tables import relation_of

TABLE = """
    CREATE TABLE t (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '/x')
"""

LATE_ROWS = WatermarkStep(1, is_for_late_rows=True)


def step_in(relation: Relation) -> WatermarkStep | None:
    if isinstance(relation, WatermarkAssigner):
        return relation.step
    # Both inputs of a join get the same watermarks.
    (step,) = {step_in(below) for below in inputs_of(relation)}
    return step


def windows(kind: str, *times: str) -> str:
    sizes = ", ".join(f"INTERVAL '{each}' SECOND" for each in times)
    table = f"TABLE({kind}(TABLE t, DESCRIPTOR(ts), {sizes}))"
    return f"SELECT window_start, COUNT(*) FROM {table} GROUP BY window_start, window_end"


def first_rows(kind: str, *times: str) -> str:
    counts = windows(kind, *times).replace("COUNT(*)", "window_end, COUNT(*) AS c")
    numbers = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c) AS n"
    return f"SELECT window_start, c FROM (SELECT *, {numbers} FROM ({counts})) WHERE n <= 2"


def near(lower: int, upper: int) -> str:
    bounds = f"a.ts BETWEEN b.ts + INTERVAL '{lower}' SECOND AND b.ts + INTERVAL '{upper}' SECOND"
    return f"SELECT a.id, a.ts FROM t AS a JOIN t AS b ON a.id = b.id AND {bounds}"


def pairs(*times: str) -> str:
    sides = [f"({windows('HOP', *times).replace('COUNT(*)', 'window_end')}) AS {name}" for name in ("a", "b")]
    equal = "a.window_start = b.window_start AND a.window_end = b.window_end"
    return f"SELECT a.window_end FROM {sides[0]} JOIN {sides[1]} ON {equal}"


def matches(within: str = "", measures: str = "A.id AS id") -> str:
    return f"""SELECT * FROM t MATCH_RECOGNIZE (
        ORDER BY ts MEASURES {measures} PATTERN (A B) {within} DEFINE A AS A.id > 1)"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, COUNT(*) FROM t GROUP BY id", None),
        (windows("TUMBLE", "10"), WatermarkStep(10_000, is_for_late_rows=True)),
        (windows("HOP", "2", "10"), WatermarkStep(2_000, is_for_late_rows=True)),
        (windows("SESSION", "4"), LATE_ROWS),
        ("SELECT SUM(id) OVER (ORDER BY ts) FROM t", LATE_ROWS),
        (first_rows("HOP", "2", "10"), WatermarkStep(2_000, is_for_late_rows=True)),
        (first_rows("SESSION", "4"), LATE_ROWS),
        (near(-4, 2), LATE_ROWS),
        # Whether a row is kept depends on the watermark if its matches are all before it.
        (near(2, 4), EVERY_WATERMARK),
        # A row that has waited is as late as the watermark says.
        (f"SELECT SUM(id) OVER (ORDER BY ts) FROM ({near(-4, 2)})", EVERY_WATERMARK),
        (pairs("2", "10"), WatermarkStep(2_000, is_for_late_rows=True)),
        (matches(), LATE_ROWS),
        (matches("WITHIN INTERVAL '5' SECOND"), EVERY_WATERMARK),
        # A match that has waited for an earlier one is as late as the watermark says.
        (f"SELECT SUM(id) OVER (ORDER BY m) FROM ({matches('', 'A.id AS id, MATCH_ROWTIME() AS m')})", EVERY_WATERMARK),
    ],
)
def test_steps(query: str, expected: WatermarkStep | None) -> None:
    (statement,) = parse(query)
    bound: Any = QueryBinder({("t",): relation_of(TABLE)}.get).bind(statement.query)  # type: ignore[attr-defined]
    relation = with_ranks(lower(bound, {}))
    assert step_in(as_node(relation).with_watermarks(None)) == expected
    assert step_in(as_node(relation).with_watermarks(EVERY_WATERMARK)) == EVERY_WATERMARK


def test_a_sink_that_looks_at_event_time_gets_whole_batches() -> None:
    """Watermarks stand between them: a sink asks for event time when a checkpoint begins."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(TABLE)
    t_env.execute_sql("""
        CREATE TABLE s (id INT, `day` STRING) PARTITIONED BY (`day`) WITH (
            'connector' = 'filesystem', 'format' = 'csv', 'path' = '/y',
            'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.trigger' = 'partition-time'
        )
    """)
    insert = insert_in("INSERT INTO s SELECT id, DATE_FORMAT(ts, 'yyyy-MM-dd') FROM t")
    (plan,) = planned_inserts(t_env._session, [plan_insert(t_env._session, insert)])
    assert plan.sink.needs_watermarks
    assert step_in(plan.relation) == LATE_ROWS
