"""SQL queries as jobs: parsed, bound, and computed on columns by slots."""

from __future__ import annotations

import pytest

from funke.common import Types
from funke.datastream import StreamExecutionEnvironment
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.table.relation_streams import stream_of
from funke.table.types import DataTypes

pytestmark = pytest.mark.spark

COLUMNS = (Column("id", DataTypes.INT()), Column("item", DataTypes.STRING()))


def test_a_query_runs_on_slots(env: StreamExecutionEnvironment) -> None:
    row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    orders = env.from_collection([(number, f"item {number % 3}") for number in range(1000)], row_type).rebalance()
    tables: dict[tuple[str, ...], Relation] = {("orders",): Scan(COLUMNS, orders)}
    text = """
        SELECT id * 2 AS twice, CASE item WHEN 'item 0' THEN 'none' ELSE item END AS item
        FROM orders WHERE id >= 10 AND MOD(id, 2) = 1 OR id = 4
        UNION ALL VALUES (-1, 'last')
    """
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    relation = QueryBinder(tables.get).bind(statement.query)
    with stream_of(env, relation).execute_and_collect() as results:
        found = sorted((row.twice, row.item) for row in results)
    kept = [number for number in range(1000) if (number >= 10 and number % 2 == 1) or number == 4]
    wanted = [(number * 2, "none" if number % 3 == 0 else f"item {number % 3}") for number in kept]
    assert found == sorted([*wanted, (-1, "last")])
