"""Tables and SQL as jobs: parsed, bound, and computed on columns by slots."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from funke.common import Row, Types
from funke.datastream import StreamExecutionEnvironment
from funke.table import DataTypes, EnvironmentSettings, FunctionContext, ScalarFunction, StreamTableEnvironment
from funke.table.expressions import call, col
from funke.table.udf import udf

pytestmark = pytest.mark.spark


@pytest.fixture
def t_env(env: StreamExecutionEnvironment) -> StreamTableEnvironment:
    return StreamTableEnvironment.create(env)


def test_a_query_runs_on_slots(env: StreamExecutionEnvironment, t_env: StreamTableEnvironment) -> None:
    row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    orders = env.from_collection([(number, f"item {number % 3}") for number in range(1000)], row_type).rebalance()
    t_env.create_temporary_view("orders", orders)
    result = t_env.execute_sql("""
        SELECT id * 2 AS twice, CASE item WHEN 'item 0' THEN 'none' ELSE item END AS item
        FROM orders WHERE id >= 10 AND MOD(id, 2) = 1 OR id = 4
        UNION ALL VALUES (-1, 'last')
    """)
    with result.collect() as rows:
        found = sorted((row[0], row[1]) for row in rows)
    kept = [number for number in range(1000) if (number >= 10 and number % 2 == 1) or number == 4]
    wanted = [(number * 2, "none" if number % 3 == 0 else f"item {number % 3}") for number in kept]
    assert found == sorted([*wanted, (-1, "last")])


def test_groups_are_counted_on_slots(t_env: StreamTableEnvironment) -> None:
    t_env.create_temporary_view(
        "orders", t_env.from_elements([(number, f"item {number % 3}") for number in range(10)], ["id", "item"])
    )
    result = t_env.execute_sql("SELECT item, COUNT(*) AS number, SUM(id) AS total FROM orders GROUP BY item")
    with result.collect() as rows:
        found = [(str(row.get_row_kind()), *row) for row in rows]
    # As in Flink: in the order of the rows for each key, whatever the other keys do.
    assert [change for change in found if change[1] == "item 1"] == [
        ("+I", "item 1", 1, 1),
        ("-U", "item 1", 1, 1),
        ("+U", "item 1", 2, 5),
        ("-U", "item 1", 2, 5),
        ("+U", "item 1", 3, 12),
    ]
    assert len(found) == 3 + 2 * 7


class Counted(ScalarFunction):
    """Says what `open` has told it."""

    def open(self, function_context: FunctionContext) -> None:
        self._prefix = function_context.get_job_parameter("prefix", "none")

    def eval(self, text: str) -> str:
        return f"{self._prefix}:{text}"


def test_values_of_all_types_pass_functions_of_users_and_come_back(
    t_env: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.get_config().set("pipeline.global-job-parameters", "prefix:seen")
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("place", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])),
            DataTypes.FIELD("names", DataTypes.ARRAY(DataTypes.STRING())),
        ]
    )
    table = t_env.from_elements(
        [(1, Decimal("1.50"), moment, (7,), ["a", None]), (2, None, None, None, None)], row_type
    )

    @udf(result_type="ROW<x INT, kind STRING>")
    def moved(place: Row | None) -> Row | None:
        return None if place is None else Row(place.x + 1, type(place).__name__)

    @udf(result_type=DataTypes.BIGINT(), func_type="pandas")
    def doubled(ids: Any) -> Any:
        assert isinstance(ids, pd.Series)
        return ids * 2

    @udf(result_type=DataTypes.STRING(), input_types=[DataTypes.BIGINT()])
    async def told(number: int) -> str:
        return f"no. {number}"

    t_env.create_temporary_function("counted", udf(Counted(), result_type=DataTypes.STRING()))
    computed = table.select(
        col("id"),
        moved(col("place")).alias("moved"),
        doubled(col("id")).alias("twice"),
        told(col("id")),
        call("counted", col("names").at(1)).alias("counted"),
        col("price"),
        col("at"),
        col("names"),
    )
    with computed.execute().collect() as rows:
        assert list(rows) == [
            Row(1, Row(8, "Row"), 2, "no. 1", "seen:a", Decimal("1.50"), moment, ["a", None]),
            Row(2, None, 4, "no. 2", "seen:None", None, None, None),
        ]
    table.select(col("id"), col("price")).execute().print()
    assert capsys.readouterr().out.splitlines() == [
        "+----+-------------+--------------+",
        "| op |          id |        price |",
        "+----+-------------+--------------+",
        "| +I |           1 |         1.50 |",
        "| +I |           2 |       <NULL> |",
        "+----+-------------+--------------+",
        "2 rows in set",
    ]


def test_rows_in_order(spark: Any) -> None:
    t_env = StreamTableEnvironment.create(environment_settings=EnvironmentSettings.in_batch_mode())
    frame = pd.DataFrame({"id": [3, 1, 2], "name": ["c", None, "b"]})
    t_env.create_temporary_view("frame", t_env.from_pandas(frame))
    found = t_env.sql_query("SELECT name, id * 2 FROM frame ORDER BY id DESC LIMIT 2").to_pandas()
    assert found.values.tolist() == [["c", 6], ["b", 4]]
