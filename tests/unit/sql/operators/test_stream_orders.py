"""Orders of streams: by event time, and the first rows of any; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.flink_exceptions import TableException
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Column, SortKey
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.plan.ranks.sort import TemporalSort
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udf
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import rows_of

RECORDED = json.loads((Path(__file__).parent / "reference_orders.json").read_text())


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    folder = tmp_path_factory.mktemp("orders")
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(f"""
        CREATE TABLE t (k STRING, ts TIMESTAMP(3), v INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}')
    """)
    environment.create_temporary_system_function("negated", udf(lambda v: None if v is None else -v, result_type="INT"))
    return environment


def changes(t_env: TableEnvironment, query: str) -> list[Any]:
    relation = planned_rows(t_env._session, t_env.sql_query(query)._relation)
    return [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    assert changes(t_env, case["query"]) == case["changes"]


def test_functions_of_users_make_orders(t_env: TableEnvironment) -> None:
    mine = changes(t_env, "SELECT k, v FROM t WHERE v IS NOT NULL ORDER BY negated(v) LIMIT 3")
    assert mine == changes(t_env, "SELECT k, v FROM t WHERE v IS NOT NULL ORDER BY v DESC LIMIT 3") != []


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("SELECT k FROM t ORDER BY ts DESC", TableException, "Sort on a non-time-attribute field is not supported."),
        ("SELECT k FROM t ORDER BY v", TableException, "Sort on a non-time-attribute field is not supported."),
        ("SELECT k FROM t ORDER BY ts OFFSET 1 ROW", TableException, "FETCH is missed, which on streaming table is"),
    ],
)
def test_what_a_stream_cannot_sort(t_env: TableEnvironment, query: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        t_env.explain_sql(query)


COLUMNS = (Column("ts", DataTypes.TIMESTAMP(3)), Column("v", DataTypes.INT()))
ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=12)


def run(spec: Any, batches: list[Any], restart: int | None = None) -> list[Any]:
    """What comes out of rows in batches, with the watermark that follows each."""
    harness, results = OperatorHarness(ColumnOperator(spec), keeps_columns=True), []
    for index, (rows, watermark) in enumerate(batches):
        if rows:
            times, values = zip(*rows)
            data = pa.record_batch([pa.array(times, pa.timestamp("ms")), pa.array(values, pa.int32())], ["ts", "v"])
            harness.operator.process_columns(ColumnBatch(data))
        harness.watermark(watermark)
        if index == restart:
            results += harness.elements()
            harness = OperatorHarness(ColumnOperator(spec), keeps_columns=True, restored=[harness.snapshot()])
    harness.end_input()
    changes = []
    for each in [*results, *harness.elements()]:
        if isinstance(each, ColumnBatch):
            kinds = np.zeros(len(each), np.int8) if each.kinds is None else each.kinds
            columns = [each.data.column(0).cast(pa.int64()).to_pylist(), each.data.column(1).to_pylist()]
            changes += zip(kinds.tolist(), *columns)
    return changes


@settings(max_examples=15, deadline=None)
@given(batches=st.lists(st.tuples(ROWS, st.integers(0, 30)), max_size=5), restart=st.integers(0, 4))
def test_batches_make_no_difference(batches: list[Any], restart: int) -> None:
    """Nor does a restart; rows come one by one, or many at a time."""
    watermark, steps, single = 0, [], []
    for rows, reached in batches:
        watermark = max(watermark, reached)
        steps.append((rows, watermark))
        single += [([row], -1) for row in rows] + [([], watermark)]
    by_time = TemporalSort(COLUMNS, rows_of(COLUMNS), (SortKey(0),)).create
    top = Rank(COLUMNS, rows_of(COLUMNS), (), (SortKey(1), SortKey(0, False)), 1, 3, is_limit=True).create
    for spec in (by_time, top):
        assert run(spec, steps, restart) == run(spec, single)
