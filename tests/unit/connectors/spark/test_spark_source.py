"""Rows and types of Spark sources, on plain Arrow batches."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.connectors.source import Split
from funke.engine.connectors.spark.source import ArrowReader, SparkBatchSource, SparkStreamSource
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row
from funke.engine.types.time import Instant

BATCH = pa.RecordBatch.from_pylist(
    [
        {
            "id": 1,
            "name": "a",
            "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            "price": Decimal("1.50"),
            "inner": {"x": 1, "days": [datetime.date(2020, 1, 2)]},
            "entries": [("k", 1)],
            "raw": b"\x00",
        },
        dict.fromkeys(("id", "name", "at", "price", "inner", "entries", "raw")),
    ],
    schema=pa.schema(
        [
            ("id", pa.int32()),
            ("name", pa.string()),
            ("at", pa.timestamp("us", "Europe/Berlin")),
            ("price", pa.decimal128(10, 2)),
            ("inner", pa.struct([("x", pa.int64()), ("days", pa.list_(pa.date32()))])),
            ("entries", pa.map_(pa.string(), pa.int32())),
            ("raw", pa.binary()),
        ]
    ),
)


def test_columns_become_rows() -> None:
    batches = list(ArrowReader().read(Split("spark", [BATCH, BATCH.slice(0, 0), BATCH.slice(1)])))
    nothing = Row(id=None, name=None, at=None, price=None, inner=None, entries=None, raw=None)
    first = Row(
        id=1,
        name="a",
        at=Instant(1577836800, 0),
        price=Decimal("1.50"),
        inner=Row(x=1, days=[datetime.date(2020, 1, 2)]),
        entries={"k": 1},
        raw=b"\x00",
    )
    assert batches == [([first, nothing], None), ([nothing], None)]


def test_the_type_of_an_arrow_schema() -> None:
    schema = pa.schema([("id", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
    assert SparkBatchSource.produced_type_for(schema) == Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.INSTANT()])


def test_the_type_of_a_spark_schema() -> None:
    from pyspark.sql.types import ArrayType, LongType, StringType, StructType, TimestampType

    schema = StructType().add("id", LongType()).add("at", TimestampType()).add("tags", ArrayType(StringType()))
    produced = SparkBatchSource.produced_type_for(schema)
    expected = [Types.LONG(), Types.INSTANT(), Types.BASIC_ARRAY(Types.STRING())]
    assert produced == Types.ROW_NAMED(["id", "at", "tags"], expected)


class Frame:
    """What the sources ask of a DataFrame."""

    def __init__(self, is_streaming: bool) -> None:
        self.isStreaming = is_streaming


def test_the_frame_must_be_of_the_right_kind() -> None:
    stream, table = Frame(True), Frame(False)
    spark: Any = None
    assert SparkBatchSource(lambda _: table).load(spark) is table  # type: ignore[arg-type,return-value]
    assert SparkStreamSource(lambda _: stream).load(spark) is stream  # type: ignore[arg-type,return-value]
    with pytest.raises(SourceError, match=r"SparkBatchSource needs a DataFrame of spark.read, got"):
        SparkBatchSource(lambda _: stream).load(spark)  # type: ignore[arg-type,return-value]
    with pytest.raises(SourceError, match=r"SparkStreamSource needs a DataFrame of spark.readStream, got"):
        SparkStreamSource(lambda _: table).load(spark)  # type: ignore[arg-type,return-value]


def test_spark_sources_say_what_they_are() -> None:
    batch, stream = SparkBatchSource(lambda spark: spark.range(1)), SparkStreamSource(lambda spark: spark.range(1))
    assert batch.is_spark
    assert batch.is_bounded
    assert not stream.is_bounded
    with pytest.raises(UnsupportedFeatureError, match="Spark plans"):
        batch.create_enumerator(1)
