"""Queries with windows, without Spark: results are those that the reference gives for the same rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from funke.engine.errors import SqlValidationError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Calculation, Column, Expansion, Relation, Scan
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.window_relations import OverAggregation, WindowAggregation, WindowTable
from funke.engine.sql.operators.calculate import Calculate, schema_of
from funke.engine.sql.operators.expand import Expand
from funke.engine.sql.operators.windows.over_aggregate import OverAggregate
from funke.engine.sql.operators.windows.partial_aggregate import PartialAggregate, can_be_partial
from funke.engine.sql.operators.windows.session_table import AddSessions
from funke.engine.sql.operators.windows.window_aggregate import WindowAggregate
from funke.engine.sql.operators.windows.window_table import AddWindows
from funke.engine.sql.parsing import parse
from funke.engine.sql.rules.unused_columns import without_unused
from funke.engine.sql.syntax.expressions import Call, Literal, Name
from funke.engine.sql.syntax.queries import GroupBy, Query, Select
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table.types import DataTypes
from tests.harness.operator_harness import OperatorHarness, Watermark

COLUMNS = (
    Column("name", DataTypes.STRING()),
    Column("ts", DataTypes.TIMESTAMP(3), TimeAttribute.ROWTIME),
    Column("amount", DataTypes.INT()),
)
# Names, seconds and amounts.
ROWS = [
    ("ann", 1, 10),
    ("bob", 2, 5),
    ("ann", 4.5, None),
    ("ann", 3, 7),
    ("bob", 11, 1),
    ("ann", 12, 3),
    ("ann", 12, 4),
    ("bob", 25, 9),
]
DELAY_MS = 2000
START = datetime.datetime(2024, 5, 1, 10)

QUERIES = {
    "tumble": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(amount) AS total FROM
        TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end,
        name
    """,
    "hop": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(amount) AS total FROM
        TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY
        window_start, window_end, name
    """,
    "cumulate": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(amount) AS total FROM
        TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY
        window_start, window_end, name
    """,
    "session": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(amount) AS total FROM
        TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '4' SECOND)) GROUP BY
        window_start, window_end, name
    """,
    "offset": """
        SELECT 'all' AS name, window_start AS s, window_end AS e, COUNT(*) AS n, MAX(amount) AS total FROM
        TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND)) GROUP BY
        window_start, window_end
    """,
    "legacy": """
        SELECT name, HOP_START(ts, INTERVAL '4' SECOND, INTERVAL '10' SECOND) AS s, HOP_END(ts, INTERVAL '4'
        SECOND, INTERVAL '10' SECOND) AS e, COUNT(*) AS n, SUM(amount) AS total FROM clicks GROUP BY HOP(ts,
        INTERVAL '4' SECOND, INTERVAL '10' SECOND), name
    """,
    "rows": """
        SELECT name, window_start AS s, window_end AS e, CAST(1 AS BIGINT) AS n, amount AS total FROM
        TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE amount > 6
    """,
    "over": """
        SELECT name, ts AS s, ts AS e, COUNT(*) OVER w AS n, SUM(amount) OVER w AS total FROM clicks WINDOW
        w AS (PARTITION BY name ORDER BY ts RANGE BETWEEN INTERVAL '8' SECOND PRECEDING AND CURRENT ROW)
    """,
    "lag": """
        SELECT name, ts AS s, ts AS e, CAST(0 AS BIGINT) AS n, LAG(amount, 1) OVER (PARTITION BY name ORDER
        BY ts) AS total FROM clicks
    """,
    "sets": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(amount) AS total FROM
        TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY GROUPING SETS
        ((window_start, window_end, name), (window_start, window_end))
    """,
    "sessionrows": """
        SELECT name, window_start AS s, window_end AS e, CAST(1 AS BIGINT) AS n, amount AS total FROM
        TABLE(SESSION(TABLE clicks PARTITION BY name, DESCRIPTOR(ts), INTERVAL '4' SECOND))
    """,
    "rownum": """
        SELECT name, ts AS s, ts AS e, ROW_NUMBER() OVER (PARTITION BY name ORDER BY ts) AS n, amount AS
        total FROM clicks
    """,
    "cascade": """
        SELECT name, window_start AS s, window_end AS e, COUNT(*) AS n, SUM(total) AS total FROM
        TABLE(TUMBLE((SELECT name, window_time AS t, SUM(amount) AS total FROM TABLE(TUMBLE(TABLE clicks,
        DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, window_time, name),
        DESCRIPTOR(t), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, name
    """,
    "attached": """
        SELECT 'all' AS name, window_start AS s, window_end AS e, COUNT(*) AS n, MAX(total) AS total FROM
        (SELECT window_start, window_end, name, SUM(amount) AS total FROM TABLE(HOP(TABLE clicks,
        DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end, name)
        GROUP BY window_start, window_end
    """,
}

RESULTS: dict[str, list[tuple[Any, ...]]] = {
    "tumble": [
        ("ann", "00:00", "00:10", 3, 17),
        ("ann", "00:10", "00:20", 2, 7),
        ("bob", "00:00", "00:10", 1, 5),
        ("bob", "00:10", "00:20", 1, 1),
        ("bob", "00:20", "00:30", 1, 9),
    ],
    "hop": [
        ("ann", "00:00", "00:10", 3, 17),
        ("ann", "00:05", "00:15", 2, 7),
        ("ann", "00:10", "00:20", 2, 7),
        ("ann", "59:55", "00:05", 3, 17),
        ("bob", "00:00", "00:10", 1, 5),
        ("bob", "00:05", "00:15", 1, 1),
        ("bob", "00:10", "00:20", 1, 1),
        ("bob", "00:20", "00:30", 1, 9),
        ("bob", "00:25", "00:35", 1, 9),
        ("bob", "59:55", "00:05", 1, 5),
    ],
    "cumulate": [
        ("ann", "00:00", "00:05", 3, 17),
        ("ann", "00:00", "00:10", 3, 17),
        ("ann", "00:00", "00:15", 5, 24),
        ("bob", "00:00", "00:05", 1, 5),
        ("bob", "00:00", "00:10", 1, 5),
        ("bob", "00:00", "00:15", 2, 6),
        ("bob", "00:15", "00:30", 1, 9),
    ],
    "session": [
        ("ann", "00:01", "00:08.500000", 3, 17),
        ("ann", "00:12", "00:16", 2, 7),
        ("bob", "00:02", "00:06", 1, 5),
        ("bob", "00:11", "00:15", 1, 1),
        ("bob", "00:25", "00:29", 1, 9),
    ],
    "offset": [("all", "00:03", "00:13", 5, 7), ("all", "00:23", "00:33", 1, 9), ("all", "59:53", "00:03", 2, 10)],
    "legacy": [
        ("ann", "00:00", "00:10", 3, 17),
        ("ann", "00:04", "00:14", 3, 7),
        ("ann", "00:08", "00:18", 2, 7),
        ("ann", "00:12", "00:22", 2, 7),
        ("ann", "59:52", "00:02", 1, 10),
        ("ann", "59:56", "00:06", 3, 17),
        ("bob", "00:00", "00:10", 1, 5),
        ("bob", "00:04", "00:14", 1, 1),
        ("bob", "00:08", "00:18", 1, 1),
        ("bob", "00:16", "00:26", 1, 9),
        ("bob", "00:20", "00:30", 1, 9),
        ("bob", "00:24", "00:34", 1, 9),
        ("bob", "59:56", "00:06", 1, 5),
    ],
    "rows": [
        ("ann", "00:00", "00:10", 1, 10),
        ("ann", "00:00", "00:10", 1, 7),
        ("ann", "59:55", "00:05", 1, 10),
        ("ann", "59:55", "00:05", 1, 7),
        ("bob", "00:20", "00:30", 1, 9),
        ("bob", "00:25", "00:35", 1, 9),
    ],
    "over": [
        ("ann", "00:01", "00:01", 1, 10),
        ("ann", "00:03", "00:03", 2, 17),
        ("ann", "00:04.500000", "00:04.500000", 3, 17),
        ("ann", "00:12", "00:12", 3, 7),
        ("ann", "00:12", "00:12", 3, 7),
        ("bob", "00:02", "00:02", 1, 5),
        ("bob", "00:11", "00:11", 1, 1),
        ("bob", "00:25", "00:25", 1, 9),
    ],
    "lag": [
        ("ann", "00:01", "00:01", 0, None),
        ("ann", "00:03", "00:03", 0, 10),
        ("ann", "00:04.500000", "00:04.500000", 0, 7),
        ("ann", "00:12", "00:12", 0, 3),
        ("ann", "00:12", "00:12", 0, 3),
        ("bob", "00:02", "00:02", 0, None),
        ("bob", "00:11", "00:11", 0, 5),
        ("bob", "00:25", "00:25", 0, 1),
    ],
    "sets": [
        ("ann", "00:00", "00:20", 5, 24),
        ("bob", "00:00", "00:20", 2, 6),
        ("bob", "00:20", "00:40", 1, 9),
        (None, "00:00", "00:20", 7, 30),
        (None, "00:20", "00:40", 1, 9),
    ],
    "sessionrows": [
        ("ann", "00:01", "00:08.500000", 1, 10),
        ("ann", "00:01", "00:08.500000", 1, 7),
        ("ann", "00:01", "00:08.500000", 1, None),
        ("ann", "00:12", "00:16", 1, 3),
        ("ann", "00:12", "00:16", 1, 4),
        ("bob", "00:02", "00:06", 1, 5),
        ("bob", "00:11", "00:15", 1, 1),
        ("bob", "00:25", "00:29", 1, 9),
    ],
    "rownum": [
        ("ann", "00:01", "00:01", 1, 10),
        ("ann", "00:03", "00:03", 2, 7),
        ("ann", "00:04.500000", "00:04.500000", 3, None),
        ("ann", "00:12", "00:12", 4, 3),
        ("ann", "00:12", "00:12", 5, 4),
        ("bob", "00:02", "00:02", 1, 5),
        ("bob", "00:11", "00:11", 2, 1),
        ("bob", "00:25", "00:25", 3, 9),
    ],
    "cascade": [("ann", "00:00", "00:20", 2, 24), ("bob", "00:00", "00:20", 2, 6), ("bob", "00:20", "00:40", 1, 9)],
    "attached": [
        ("all", "00:00", "00:10", 2, 17),
        ("all", "00:05", "00:15", 2, 7),
        ("all", "00:10", "00:20", 2, 7),
        ("all", "00:20", "00:30", 1, 9),
        ("all", "00:25", "00:35", 1, 9),
        ("all", "59:55", "00:05", 2, 17),
    ],
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_results_are_those_of_the_reference(query: str, size: int) -> None:
    assert sorted(run(QUERIES[query], size), key=str) == RESULTS[query]


# Functions whose accumulators are more than numbers.
MORE_QUERIES = {
    "hop": """
        SELECT name, COUNT(DISTINCT amount), LISTAGG(CAST(amount AS STRING)), AVG(amount), MIN(amount),
        COUNT(*) FILTER (WHERE amount > 4) FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND,
        INTERVAL '10' SECOND)) GROUP BY window_start, window_end, name
    """,
    "cumulate": """
        SELECT name, COUNT(DISTINCT amount), LISTAGG(CAST(amount AS STRING)), AVG(amount), MIN(amount),
        COUNT(*) FILTER (WHERE amount > 4) FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5'
        SECOND, INTERVAL '15' SECOND)) GROUP BY window_start, window_end, name
    """,
    "session": """
        SELECT name, COUNT(DISTINCT amount), LISTAGG(CAST(amount AS STRING)), AVG(amount), MIN(amount),
        COUNT(*) FILTER (WHERE amount > 4) FROM TABLE(SESSION(TABLE clicks PARTITION BY name,
        DESCRIPTOR(ts), INTERVAL '8' SECOND)) GROUP BY window_start, window_end, name
    """,
    "over": """
        SELECT name, COUNT(DISTINCT amount) OVER w, LISTAGG(CAST(amount AS STRING)) OVER w,
        FIRST_VALUE(amount) OVER w, LAST_VALUE(amount) OVER w, AVG(amount) OVER w, MIN(amount) OVER w FROM
        clicks WINDOW w AS (PARTITION BY name ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    """,
    "overrange": """
        SELECT name, COUNT(DISTINCT amount) OVER w, '', FIRST_VALUE(amount) OVER w, LAST_VALUE(amount) OVER
        w, AVG(amount) OVER w, MIN(amount) OVER w FROM clicks WINDOW w AS (PARTITION BY name ORDER BY ts
        RANGE BETWEEN INTERVAL '8' SECOND PRECEDING AND CURRENT ROW)
    """,
    "rank": """
        SELECT name, RANK() OVER (PARTITION BY name ORDER BY ts), DENSE_RANK() OVER (PARTITION BY name ORDER
        BY ts), amount FROM clicks
    """,
    "lag": """
        SELECT name, LAG(amount, 2, -1) OVER (PARTITION BY name ORDER BY ts) FROM clicks
    """,
}

MORE_RESULTS: dict[str, list[tuple[Any, ...]]] = {
    "hop": [
        ("ann", 2, "10,7", 8, 7, 2),
        ("ann", 2, "10,7", 8, 7, 2),
        ("ann", 2, "3,4", 3, 3, 0),
        ("ann", 2, "3,4", 3, 3, 0),
        ("bob", 1, "1", 1, 1, 0),
        ("bob", 1, "1", 1, 1, 0),
        ("bob", 1, "5", 5, 5, 1),
        ("bob", 1, "5", 5, 5, 1),
        ("bob", 1, "9", 9, 9, 1),
        ("bob", 1, "9", 9, 9, 1),
    ],
    "cumulate": [
        ("ann", 2, "10,7", 8, 7, 2),
        ("ann", 2, "10,7", 8, 7, 2),
        ("ann", 4, "10,7,3,4", 6, 3, 2),
        ("bob", 1, "5", 5, 5, 1),
        ("bob", 1, "5", 5, 5, 1),
        ("bob", 1, "9", 9, 9, 1),
        ("bob", 2, "5,1", 3, 1, 1),
    ],
    "session": [
        ("ann", 4, "10,7,3,4", 6, 3, 2),
        ("bob", 1, "1", 1, 1, 0),
        ("bob", 1, "5", 5, 5, 1),
        ("bob", 1, "9", 9, 9, 1),
    ],
    "over": [
        ("ann", 1, "10", 10, 10, 10, 10),
        ("ann", 1, "3", 3, 3, 3, 3),
        ("ann", 1, "7", 7, 7, 7, 7),
        ("ann", 2, "10,7", 10, 7, 8, 7),
        ("ann", 2, "3,4", 3, 4, 3, 3),
        ("bob", 1, "5", 5, 5, 5, 5),
        ("bob", 2, "1,9", 1, 9, 5, 1),
        ("bob", 2, "5,1", 5, 1, 3, 1),
    ],
    "overrange": [
        ("ann", 1, "", 10, 10, 10, 10),
        ("ann", 2, "", 10, 7, 8, 7),
        ("ann", 2, "", 10, 7, 8, 7),
        ("ann", 2, "", 3, 4, 3, 3),
        ("ann", 2, "", 3, 4, 3, 3),
        ("bob", 1, "", 1, 1, 1, 1),
        ("bob", 1, "", 5, 5, 5, 5),
        ("bob", 1, "", 9, 9, 9, 9),
    ],
    # The reference counts rows of the same time for each other, and gives 5 to both.
    "rank": [
        ("ann", 1, 1, 10),
        ("ann", 2, 2, 7),
        ("ann", 3, 3, None),
        ("ann", 4, 4, 3),
        ("ann", 4, 4, 4),
        ("bob", 1, 1, 5),
        ("bob", 2, 2, 1),
        ("bob", 3, 3, 9),
    ],
    "lag": [("ann", -1), ("ann", -1), ("ann", -1), ("ann", -1), ("ann", 10), ("bob", -1), ("bob", -1), ("bob", 5)],
}


@pytest.mark.parametrize("query", MORE_QUERIES)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_other_functions_in_windows(query: str, size: int) -> None:
    (statement,) = parse(MORE_QUERIES[query])
    assert isinstance(statement, QueryStatement)
    assert sorted(results_of(statement.query, size), key=str) == MORE_RESULTS[query]


@pytest.mark.parametrize(
    ("kind", "sizes", "results"),
    [
        ("tumble", (2,), [("ann", 1, 10), ("bob", 2, 6), ("ann", 2, 10)]),
        ("hop", (2, 3), [("ann", 2, 17), ("ann", 3, 14), ("bob", 3, 15)]),
        ("hop", (3, 2), [("ann", 1, 10), ("bob", 2, 6), ("ann", 2, 7)]),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_windows_that_count_rows(kind: str, sizes: tuple[int, ...], results: list[Any], size: int) -> None:
    assert results_of(counting_rows(kind, *sizes), size) == results


def counting_rows(kind: str, *sizes: int, time: str = "p") -> Query:
    """A query as the Table API makes it; SQL has no words for it."""
    (statement,) = parse(
        "SELECT name, COUNT(amount) AS n, SUM(amount) AS s FROM (SELECT *, PROCTIME() AS p FROM clicks) GROUP BY name"
    )
    assert isinstance(statement, QueryStatement) and isinstance(statement.query, Select)
    numbers = [Literal(each, DataTypes.BIGINT().not_null()) for each in sizes]
    window = Call(kind, (Name((time,)), *numbers))
    return replace(statement.query, group_by=GroupBy(((Name(("name",)), window),)))


def test_rows_are_counted_by_the_clock_alone() -> None:
    with pytest.raises(SqlValidationError, match="Event-time grouping windows on row intervals are currently not"):
        results_of(counting_rows("tumble", 2, time="ts"), 1)
    query = counting_rows("tumble", 2)
    assert isinstance(query, Select) and query.group_by is not None
    start = Call("tumble_start", query.group_by.sets[0][1].arguments)  # type: ignore[attr-defined]
    with pytest.raises(SqlValidationError, match="cannot be selected for a row-count tumble window"):
        results_of(replace(query, items=(start,)), 1)


def run(text: str, size: int) -> list[tuple[Any, ...]]:
    """The results of a query, with the bounds of windows as minutes and seconds."""
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    rows = results_of(statement.query, size)
    return [(name, shown(start), shown(end), count, total) for name, start, end, count, total in rows]


def results_of(query: Query, size: int) -> list[tuple[Any, ...]]:
    tables: dict[tuple[str, ...], Relation] = {("clicks",): Scan(COLUMNS, None)}
    elements = list(elements_of(without_unused(QueryBinder(tables.get).bind(query)), size))
    return [row for each in elements if isinstance(each, ColumnBatch) for row in rows_of(each)]


def rows_of(batch: ColumnBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.data.columns)))


def shown(moment: datetime.datetime) -> str:
    return str(moment)[14:]


def elements_of(relation: Any, size: int) -> Iterator[Any]:
    """Everything that comes out of a relation: batches and watermarks."""
    if isinstance(relation, Scan):
        yield from source(size)
        return
    elements = elements_of(relation.input, size)
    for create in OPERATORS[type(relation)](relation):
        elements = through(OperatorHarness(ColumnOperator(create), keeps_columns=True), elements)
    yield from elements


def through(harness: OperatorHarness, elements: Iterator[Any]) -> Iterator[Any]:
    """What an operator makes of batches and watermarks."""
    for element in elements:
        if isinstance(element, Watermark):
            harness.watermark(element.timestamp)
        elif isinstance(element, ColumnBatch):
            harness.operator.process_columns(element)
        yield from harness.elements()


def source(size: int) -> Iterator[Any]:
    """The rows, and a watermark behind each batch."""
    latest = 0
    for start in range(0, len(ROWS), size):
        names, seconds, amounts = zip(*ROWS[start : start + size])
        moments = [START + datetime.timedelta(seconds=each) for each in seconds]
        arrays = [pa.array(names), pa.array(moments, pa.timestamp("ms")), pa.array(amounts, pa.int32())]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema_of(COLUMNS))
        times = np.asarray(arrays[1].cast(pa.int64()))
        yield ColumnBatch(batch, times)
        latest = max(latest, int(times.max()))
        yield Watermark(latest - DELAY_MS - 1)
    yield Watermark((1 << 63) - 1)


OPERATORS: dict[type[Relation], Any] = {
    Calculation: lambda relation: [Calculate.of(relation)],
    Expansion: lambda relation: [Expand.of(relation)],
    OverAggregation: lambda relation: [OverAggregate.of(relation)],
    WindowAggregation: lambda relation: (
        [PartialAggregate.of(relation), WindowAggregate.of_entries(relation)]
        if can_be_partial(relation)
        else [WindowAggregate.of(relation)]
    ),
    WindowTable: lambda relation: [(AddSessions if relation.windows.kind == "session" else AddWindows).of(relation)],
}
