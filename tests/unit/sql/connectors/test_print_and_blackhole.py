"""Lines that the connector print writes, as they were recorded with PyFlink."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from funke.engine.connectors.sink import WriterContext
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.external_text import external_text
from funke.engine.sql.connectors.table_sink import ALL_CHANGES, UPSERTS
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.driver_messages import PrintedText
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.row import Row
from tests.harness.sql_tables import sink_of

UTC = datetime.UTC
ROW = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())])


def lines(options: str, columns: list[Column], rows: list[Any], parallelism: int = 1, kinds: Any = None) -> list[str]:
    sent: list[Any] = []
    sink = sink_of(f"CREATE TABLE t (x INT) WITH ('connector' = 'print'{options})").create_sink(columns)
    context = WriterContext("job", 1, parallelism, 0, row_type_of(columns), lambda: 0, sent.append)
    arrays = [from_values(list(values), each.type) for values, each in zip(zip(*rows), columns)]
    data = pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))
    sink.create_writer(context).write_columns(ColumnBatch(data, None, kinds))
    (message,) = sent
    assert isinstance(message, PrintedText)
    return message.text.splitlines()


@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        (DataTypes.BOOLEAN(), True, "true"),
        (DataTypes.FLOAT(), 1.5, "1.5"),
        (DataTypes.DOUBLE(), 1e10, "1.0E10"),
        (DataTypes.DECIMAL(10, 2), Decimal("100.50"), "100.50"),
        (DataTypes.STRING(), 'he said "hi", ok', 'he said "hi", ok'),
        (DataTypes.BYTES(), b"hi\xff", "[104, 105, -1]"),
        (DataTypes.DATE(), datetime.date(2020, 1, 2), "2020-01-02"),
        (DataTypes.TIME(), datetime.time(3, 4, 5), "03:04:05"),
        (DataTypes.TIME(), datetime.time(3, 4), "03:04"),
        (DataTypes.TIMESTAMP(0), datetime.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02T03:04:05"),
        (DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 2, 3, 4, 5, 120000), "2020-01-02T03:04:05.120"),
        (DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 2), "2020-01-02T00:00"),
        (DataTypes.TIMESTAMP(6), datetime.datetime(2020, 1, 2, 3, 4, 5, 123456), "2020-01-02T03:04:05.123456"),
        (DataTypes.TIMESTAMP_LTZ(3), datetime.datetime(2020, 1, 2, 3, 4, 5, 120000, UTC), "2020-01-02T03:04:05.120Z"),
        (DataTypes.TIMESTAMP_LTZ(3), datetime.datetime(2020, 1, 2, tzinfo=UTC), "2020-01-02T00:00:00Z"),
        (DataTypes.ARRAY(ROW), [(1, "a"), (2, None)], "[+I[1, a], +I[2, null]]"),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.INT())), {"z": [1, 2]}, "{z=[1, 2]}"),
        (DataTypes.MULTISET(DataTypes.INT()), {5: 2}, "{5=2}"),
        (ROW, (1, "z"), "+I[1, z]"),
        (DataTypes.INT(), None, "null"),
    ],
)
def test_strings(data_type: Any, value: Any, text: str) -> None:
    assert external_text(data_type)(value) == text
    assert lines("", [Column("x", data_type)], [(value,)]) == [f"+I[{text}]"]


def test_lines_have_kinds_and_prefixes() -> None:
    columns = [Column("a", DataTypes.BIGINT()), Column("b", DataTypes.STRING())]
    rows = [(1, "x"), (2, None), (3, "z"), (4, "")]
    kinds = np.array([0, 1, 2, 3], np.int8)
    assert lines("", columns, rows, kinds=kinds) == ["+I[1, x]", "-U[2, null]", "+U[3, z]", "-D[4, ]"]
    assert lines(", 'print-identifier' = 'ID'", columns, rows[:1]) == ["ID> +I[1, x]"]
    assert lines("", columns, rows[:1], parallelism=2) == ["2> +I[1, x]"]
    assert lines(", 'print-identifier' = 'ID'", columns, rows[:1], parallelism=2) == ["ID:2> +I[1, x]"]


def test_rows_are_printed_too_and_to_the_standard_error() -> None:
    sent: list[Any] = []
    columns = [Column("a", DataTypes.INT()), Column("t", DataTypes.TIMESTAMP(3))]
    table = sink_of(
        "CREATE TABLE t (x INT) WITH ('connector'='print', 'standard-error'='true', 'sink.parallelism'='2')"
    )
    assert table.parallelism == 2
    context = WriterContext("job", 0, 1, 0, row_type_of(columns), lambda: 0, sent.append)
    table.create_sink(columns).create_writer(context).write([Row(1, datetime.datetime(2020, 1, 2))], None)
    assert sent == [PrintedText("+I[1, 2020-01-02T00:00]\n", True)]


def test_kinds_of_changes() -> None:
    assert sink_of("CREATE TABLE t (x INT) WITH ('connector' = 'print')").accepted_kinds(ALL_CHANGES) == ALL_CHANGES
    blackhole = sink_of("CREATE TABLE t (x INT) WITH ('connector' = 'blackhole')")
    assert blackhole.accepted_kinds(ALL_CHANGES) == UPSERTS
