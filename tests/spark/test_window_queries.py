"""Queries with windows as jobs: event time and watermarks come from a table, slots compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.engine.sql.connectors.external_text import external_text
from funke.table import DataTypes, StreamTableEnvironment
from tests.harness.case_files import read_case_file
from tests.harness.sql_changelogs import folded

pytestmark = pytest.mark.spark


CASES = list(read_case_file(Path(__file__).parents[1] / "sql" / "cases" / "window_queries.case").cases())


def test_windows_run_on_slots(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    lines = [",".join("" if cell == "null" else cell for cell in step.cells) for step in CASES[0].steps]
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
    # A hopping window, a session, windows of windows and an OVER window.
    words = ("TABLE(HOP(", "TABLE(SESSION(", "MAX(total)", "COUNT(*) OVER w")
    cases = [next(case for case in CASES if word in case.record.body) for word in words]
    text = " UNION ALL ".join(f"SELECT {number}, * FROM ({case.record.body})" for number, case in enumerate(cases))
    time = external_text(DataTypes.TIMESTAMP(3))
    values = []
    with t_env.execute_sql(text).collect() as results:
        for number, name, start, end, count, total in map(tuple, results):
            output = "null" if total is None else total
            values.append((number, f"+I[{name}, {time(start)}, {time(end)}, {count}, {output}]"))
    assert sorted(values) == sorted(
        (number, line) for number, case in enumerate(cases) for line in case.record.expected
    )


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
    expected = []
    for (k, p), total in sums.items():
        peers = [each for (_, other), each in sums.items() if other == p]
        running, rank = sum(each for each in peers if each <= total), sum(each < total for each in peers) + 1
        expected.append((k, p, total, running, rank))
    assert folded(changes) == sorted(expected, key=repr)
