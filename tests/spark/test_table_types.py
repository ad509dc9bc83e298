"""Files described by data types of the Table API, written and read by jobs."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from funke.common import Row, Types, WatermarkStrategy
from funke.datastream.connectors.file_system import FileSink, FileSource
from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from funke.table import DataTypes
from tests.spark.job_running import collect, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ROW_TYPE = DataTypes.ROW(
    [
        DataTypes.FIELD("id", DataTypes.BIGINT()),
        DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
        DataTypes.FIELD("day", DataTypes.DATE()),
        DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
    ]
)
STREAM_TYPE = Types.ROW_NAMED(
    ["id", "price", "day", "tags"],
    [Types.LONG(), Types.BIG_DEC(), Types.SQL_DATE(), Types.OBJECT_ARRAY(Types.STRING())],
)


def test_parquet_files_go_through_two_jobs(tmp_path: Path) -> None:
    rows = [
        Row(id=1, price=Decimal("1.50"), day=datetime.date(2020, 2, 29), tags=["a", "b"]),
        Row(id=2, price=None, day=None, tags=None),
    ]
    writing = new_environment(1)
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROW_TYPE)).build()
    writing.from_collection(rows, STREAM_TYPE).sink_to(sink)
    writing.execute("write")
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW_TYPE), str(tmp_path)).build()

    read = collect(new_environment(1).from_source(source, WatermarkStrategy.no_watermarks(), "parquet"))

    assert sorted(read, key=lambda row: row.id) == rows
