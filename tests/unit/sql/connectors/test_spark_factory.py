"""What the connector spark hands to Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.connectors.source import Split
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.connectors.spark_factory import SparkTableSink, SparkTableSource
from funke.engine.sql.connectors.table_factories import create_table_sink
from funke.engine.sql.operators.calculate import schema_of
from tests.harness.sql_tables import created, sink_of, source_of


def table(options: str, more: str = "") -> str:
    return (
        f"CREATE TABLE t (id INT, price DECIMAL(5, 2), ts TIMESTAMP(3)) {more} WITH ('connector' = 'spark', {options})"
    )


class Frame:
    """Remembers what is asked of a reader."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.schema: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def call(*values: Any, **named: Any) -> Frame:
            self.calls.append((name, values or named))
            return self

        return call


def test_a_format_with_options() -> None:
    source = source_of(table("'format' = 'jdbc', 'options.url' = 'jdbc:x', 'options.dbtable' = 't'"))
    assert isinstance(source, SparkTableSource)
    assert source.is_bounded
    narrow = source.with_columns([2, 0])
    frame = Frame()
    session: Any = type("Session", (), {"read": frame})
    narrow.load(session)
    assert frame.calls == [
        ("options", {"url": "jdbc:x", "dbtable": "t"}),
        ("format", ("jdbc",)),
        ("load", (None,)),
        ("select", ("`ts`", "`id`")),
    ]
    assert [each.name for each in narrow.columns] == ["ts", "id"]


def test_a_stream() -> None:
    source = source_of(
        table("'format' = 'delta', 'path' = '/x', 'streaming' = 'true', 'trigger.processing-time' = '1 s'")
    )
    new_source = source.create_source()
    assert not source.is_bounded
    assert new_source.is_spark
    assert new_source.trigger == {"processingTime": "1 s"}  # type: ignore[attr-defined]


def test_columns_get_the_types_of_the_table() -> None:
    source = source_of(table("'table' = 'orders'"))
    data = pa.record_batch(
        {
            "id": pa.array([1], pa.int64()),
            "price": pa.array([2.5]),
            "ts": pa.array([1_500_000], pa.timestamp("us", "UTC")),
        }
    )
    reader = source.create_source().create_reader()
    (batch,) = reader.read_columns(Split("s", [data]))  # type: ignore[union-attr]
    assert batch.data.schema == schema_of(source.columns)
    ((values, _),) = reader.read(Split("s", [data]))
    assert str(values[0].ts) == "1970-01-01 00:00:01.500000"


def test_a_writer() -> None:
    sink = sink_of(table("'format' = 'parquet', 'path' = '/x', 'options.compression' = 'zstd'", "PARTITIONED BY (id)"))
    new_sink = sink.create_sink(())
    assert isinstance(new_sink, SparkSink)
    assert (new_sink.format, new_sink.path, new_sink.mode) == ("parquet", "/x", "append")
    assert (new_sink.options, new_sink.partition_by) == ({"compression": "zstd"}, ("id",))
    with pytest.raises(TableException, match="Streaming mode not support overwrite"):
        sink.with_overwrite()
    batch = create_table_sink(replace(created(table("'table' = 'orders'"))[0], is_batch=True))
    assert isinstance(batch, SparkTableSink)
    assert batch.with_overwrite().sink.mode == "overwrite"


@pytest.mark.parametrize("options", ["'path' = '/x'", "'table' = 't', 'path' = '/x'", "'format' = 'x', 'url' = 'y'"])
def test_what_is_rejected(options: str) -> None:
    with pytest.raises(ValidationException):
        source_of(table(options))
