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
from tests.harness.sql_tables import relation_of

TABLE = """
    CREATE TABLE t (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '/x')
"""

LATE_ROWS = WatermarkStep(1, is_for_late_rows=True)


def step_in(relation: Relation) -> WatermarkStep | None:
    if isinstance(relation, WatermarkAssigner):
        return relation.step
    (below,) = inputs_of(relation)
    return step_in(below)


def windows(kind: str, *times: str) -> str:
    sizes = ", ".join(f"INTERVAL '{each}' SECOND" for each in times)
    table = f"TABLE({kind}(TABLE t, DESCRIPTOR(ts), {sizes}))"
    return f"SELECT window_start, COUNT(*) FROM {table} GROUP BY window_start, window_end"


def first_rows(kind: str, *times: str) -> str:
    counts = windows(kind, *times).replace("COUNT(*)", "window_end, COUNT(*) AS c")
    numbers = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c) AS n"
    return f"SELECT window_start, c FROM (SELECT *, {numbers} FROM ({counts})) WHERE n <= 2"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT id, COUNT(*) FROM t GROUP BY id", None),
        (windows("TUMBLE", "10"), WatermarkStep(10_000, is_for_late_rows=True)),
        (windows("HOP", "2", "10"), WatermarkStep(2_000, is_for_late_rows=True)),
        (windows("SESSION", "4"), LATE_ROWS),
        ("SELECT SUM(id) OVER (ORDER BY ts) FROM t", LATE_ROWS),
        (first_rows("HOP", "2", "10"), WatermarkStep(2_000, is_for_late_rows=True)),
        (first_rows("SESSION", "4"), LATE_ROWS),
    ],
)
def test_steps(query: str, wanted: WatermarkStep | None) -> None:
    (statement,) = parse(query)
    bound: Any = QueryBinder({("t",): relation_of(TABLE)}.get).bind(statement.query)  # type: ignore[attr-defined]
    relation = with_ranks(lower(bound))
    assert step_in(as_node(relation).with_watermarks(None)) == wanted
    assert step_in(as_node(relation).with_watermarks(EVERY_WATERMARK)) == EVERY_WATERMARK
