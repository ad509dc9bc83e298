"""Functions that tell where a query runs, and how far event time has come there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.expressions import col, current_database, current_watermark
from tests.harness.local_jobs import changes_in

SECONDS = [1, 3, 2, 9, 8]


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    lines = (json.dumps({"v": second, "ts": f"2024-01-01 00:00:{second:02}"}) for second in SECONDS)
    (tmp_path / "t.json").write_text("\n".join(lines))
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(f"""
        CREATE TABLE t (v INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    return environment


def rows(table: Any, is_batch: bool = False) -> list[Any]:
    return [row for _, row in changes_in(planned_rows(table._t_env._session, table._relation), is_batch)]


def test_every_row_sees_the_watermark_that_stands_before_it(t_env: TableEnvironment) -> None:
    result_rows = rows(t_env.sql_query("SELECT v, EXTRACT(SECOND FROM CURRENT_WATERMARK(ts)) FROM t"))
    assert result_rows == [(1, None), (3, 0), (2, 2), (9, 2), (8, 8)]
    late = t_env.sql_query("SELECT v FROM t WHERE ts <= CURRENT_WATERMARK(ts)")
    assert rows(late) == [(2,), (8,)]
    table = t_env.from_path("t").select(current_watermark(col("ts")).is_null, current_database())
    assert rows(table)[:2] == [(True, "default_database"), (False, "default_database")]


def test_the_database_is_that_of_the_statement(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("USE other")
    assert rows(t_env.sql_query("SELECT CURRENT_DATABASE() FROM (VALUES (1)) AS v (x)")) == [("other",)]


@pytest.mark.parametrize("argument", ["v", "p", "TIMESTAMP '2024-01-01 00:00:00'"])
def test_only_event_time_has_watermarks(t_env: TableEnvironment, argument: str) -> None:
    with pytest.raises((ValidationException, SqlValidationError), match="CURRENT_WATERMARK"):
        t_env.sql_query(f"SELECT CURRENT_WATERMARK({argument}) FROM t")
