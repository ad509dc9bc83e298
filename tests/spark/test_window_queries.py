"""Queries with windows as jobs: event time and watermarks come from a table, slots compute."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.table import StreamTableEnvironment
from tests.harness.sql_changelogs import folded
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


def test_windows_of_groups_in_the_order_of_values_run_on_slots(env: StreamExecutionEnvironment) -> None:
    """With several subtasks, whose changes leave what a batch gives."""
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    rows = [(number % 7, number % 3, number) for number in range(60)]
    t_env.create_temporary_view("t", t_env.from_elements(rows, ["k", "p", "v"]))
    query = """
        SELECT k, p, SUM(v), SUM(SUM(v)) OVER w, RANK() OVER w FROM t GROUP BY k, p
        WINDOW w AS (PARTITION BY p ORDER BY SUM(v))
    """
    with t_env.execute_sql(query).collect() as results:
        changes = [(str(each.get_row_kind()), tuple(each)) for each in results]
    sums: dict[tuple[int, int], int] = {}
    for k, p, v in rows:
        sums[k, p] = sums.get((k, p), 0) + v
    wanted = []
    for (k, p), total in sums.items():
        peers = [each for (_, other), each in sums.items() if other == p]
        running, rank = sum(each for each in peers if each <= total), sum(each < total for each in peers) + 1
        wanted.append((k, p, total, running, rank))
    assert folded(changes) == sorted(wanted, key=repr)
