"""Windows that count rows: the Table API has them, SQL has no words for them. Results are those of the reference."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.expressions import col, row_interval
from funke.table.table import Table
from funke.table.window import Slide, Tumble
from tests.harness.local_jobs import changes_in

ROWS = [("ann", 10), ("bob", 5), ("ann", None), ("ann", 7), ("bob", 1), ("ann", 3), ("ann", 4), ("bob", 9)]


@pytest.fixture
def clicks() -> Table:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_view("clicks", t_env.from_elements(ROWS, ["name", "amount"]))
    return t_env.sql_query("SELECT name, CAST(amount AS INT) AS amount, PROCTIME() AS p FROM clicks")


def windowed(clicks: Table, window: Any) -> Table:
    grouped = clicks.window(window.on(col("p")).alias("w")).group_by(col("w"), col("name"))
    return grouped.select(col("name"), col("amount").count.alias("n"), col("amount").sum.alias("s"))


@pytest.mark.parametrize(
    ("window", "results"),
    [
        (Tumble.over(row_interval(2)), [("ann", 1, 10), ("bob", 2, 6), ("ann", 2, 10)]),
        (Slide.over(row_interval(3)).every(row_interval(2)), [("ann", 2, 17), ("ann", 3, 14), ("bob", 3, 15)]),
        (Slide.over(row_interval(2)).every(row_interval(3)), [("ann", 1, 10), ("bob", 2, 6), ("ann", 2, 7)]),
    ],
    ids=["tumble", "overlapping", "with gaps"],
)
def test_windows_that_count_rows(clicks: Table, window: Any, results: list[Any]) -> None:
    relation = planned_rows(clicks._t_env._session, windowed(clicks, window)._relation)
    assert [row for _, row in changes_in(relation, is_batch=False)] == results


def test_rows_are_counted_by_the_clock_alone(clicks: Table) -> None:
    t_env = clicks._t_env
    columns = "name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
    t_env.execute_sql(f"CREATE TABLE timed ({columns}) WITH ('connector' = 'datagen')")
    window = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
    with pytest.raises(SqlValidationError, match="Event-time grouping windows on row intervals are currently not"):
        t_env.from_path("timed").window(window).group_by(col("w")).select(col("name").count)


def test_a_window_that_counts_rows_has_no_start(clicks: Table) -> None:
    grouped = clicks.window(Tumble.over(row_interval(2)).on(col("p")).alias("w")).group_by(col("w"))
    with pytest.raises(SqlValidationError, match="cannot be selected for a row-count tumble window"):
        grouped.select(col("w").start)
