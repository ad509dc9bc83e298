"""Queries with windows as jobs: event time and watermarks come from a table, slots compute."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.table import StreamTableEnvironment
from tests.unit.sql.operators.test_window_queries import QUERIES, RESULTS, ROWS, START, shown

pytestmark = pytest.mark.spark


def test_windows_run_on_slots(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    moments = [START + datetime.timedelta(seconds=seconds) for _, seconds, _ in ROWS]
    lines = [
        f"{name},{moment.isoformat(' ', 'milliseconds')},{'' if amount is None else amount}"
        for (name, _, amount), moment in zip(ROWS, moments)
    ]
    (tmp_path / "clicks.csv").write_text("\n".join(lines) + "\n")
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(f"""
        CREATE TABLE clicks (
            name STRING, ts TIMESTAMP(3), amount INT, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
        ) WITH (
            'connector' = 'filesystem', 'path' = '{tmp_path / "clicks.csv"}', 'format' = 'csv',
            'csv.null-literal' = ''
        )
    """)
    names = ["hop", "session", "attached", "over"]
    text = " UNION ALL ".join(f"SELECT '{name}', * FROM ({QUERIES[name]})" for name in names)
    with t_env.execute_sql(text).collect() as results:
        found = [
            (query, name, shown(start), shown(end), *rest) for query, name, start, end, *rest in map(tuple, results)
        ]
    wanted = [(name, *row) for name in names for row in RESULTS[name]]
    assert sorted(found, key=str) == sorted(wanted, key=str)
