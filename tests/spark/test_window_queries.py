"""Queries with windows as jobs: event time and watermarks come from a stream, slots compute."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from funke.common import Duration, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import StreamExecutionEnvironment
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.table.relation_streams import stream_of
from tests.unit.sql.operators.test_window_queries import COLUMNS, QUERIES, RESULTS, ROWS, START, shown

pytestmark = pytest.mark.spark


class TimeOfClick(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return (value[1] - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)


def test_windows_run_on_slots(env: StreamExecutionEnvironment) -> None:
    row_type = Types.ROW_NAMED(["name", "ts", "amount"], [Types.STRING(), Types.SQL_TIMESTAMP(), Types.INT()])
    rows = [(name, START + datetime.timedelta(seconds=seconds), amount) for name, seconds, amount in ROWS]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    clicks = env.from_collection(rows, row_type).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(TimeOfClick())
    )
    tables: dict[tuple[str, ...], Relation] = {("clicks",): Scan(COLUMNS, clicks)}
    names = ["hop", "session", "attached", "over"]
    text = " UNION ALL ".join(f"SELECT '{name}', * FROM ({QUERIES[name]})" for name in names)
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    with stream_of(env, QueryBinder(tables.get).bind(statement.query)).execute_and_collect() as results:
        found = [
            (query, name, shown(start), shown(end), *rest) for query, name, start, end, *rest in map(tuple, results)
        ]
    wanted = [(name, *row) for name in names for row in RESULTS[name]]
    assert sorted(found, key=str) == sorted(wanted, key=str)
