"""Aggregates of SQL as jobs: exchanged by key, computed on columns by slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from funke.common import Types
from funke.datastream import DataStream, StreamExecutionEnvironment
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.table.relation_streams import stream_of
from funke.table.types import DataTypes

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Given:
    """A stream as a table."""

    rows: DataStream

    def stream(self, env: Any, columns: Sequence[Column]) -> DataStream:
        return self.rows


def test_groups_are_counted_on_slots(env: StreamExecutionEnvironment) -> None:
    row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    orders = env.from_collection([(number, f"item {number % 3}") for number in range(10)], row_type)
    (statement,) = parse("SELECT item, COUNT(*) AS number, SUM(id) AS total FROM orders GROUP BY item")
    assert isinstance(statement, QueryStatement)
    columns = (Column("id", DataTypes.INT()), Column("item", DataTypes.STRING()))
    relation = QueryBinder({("orders",): Scan(columns, Given(orders))}.get).bind(statement.query)
    with stream_of(env, relation).execute_and_collect() as results:
        found = [(str(row.get_row_kind()), row.item, row.number, row.total) for row in results]
    # As in Flink: the changes of a key in the order of its rows, whatever other keys do.
    assert [change for change in found if change[1] == "item 1"] == [
        ("+I", "item 1", 1, 1),
        ("-U", "item 1", 1, 1),
        ("+U", "item 1", 2, 5),
        ("-U", "item 1", 2, 5),
        ("+U", "item 1", 3, 12),
    ]
    assert len(found) == 3 + 2 * 7
