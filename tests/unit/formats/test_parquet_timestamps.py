"""Timestamps in Parquet files have the types that Flink writes, and mean the same when they are read again."""

from __future__ import annotations

import datetime
import io
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from funke.engine.formats.parquet_reader import instant_columns
from funke.engine.formats.parquet_timestamps import ParquetTimestamps, in_local_time

AT = datetime.datetime(2020, 6, 1, 12, 34, 56, 123456)
TABLE = pa.table(
    {
        "at": pa.array([AT, None], pa.timestamp("us")),
        "instant": pa.array([AT, None], pa.timestamp("us", "UTC")),
        "clock": pa.array([datetime.time(1, 2, 3), None], pa.time32("ms")),
        "number": pa.array([1, None]),
    }
)


def written(timestamps: ParquetTimestamps) -> pq.ParquetFile:
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, timestamps.schema(TABLE.schema), **timestamps.writer_options) as writer:
        writer.write_table(timestamps.table(TABLE))
    return pq.ParquetFile(stream)


def types(file: pq.ParquetFile) -> list[str]:
    columns = [file.schema.column(index) for index in range(3)]
    return [f"{column.physical_type} {column.logical_type}".split(", is_from")[0] for column in columns]


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(column: Any) -> Any:
    return in_local_time(column.combine_chunks()).cast(pa.timestamp("us")).to_pylist()


# Recorded from Flink 2.3.
def test_the_types_are_flinks() -> None:
    clock = "INT32 Time(isAdjustedToUTC=true, timeUnit=milliseconds)"
    assert types(written(ParquetTimestamps())) == ["INT96 None", "INT96 None", clock]
    for unit, text in (("ms", "milliseconds"), ("us", "microseconds"), ("ns", "nanoseconds")):
        stamp = f"INT64 Timestamp(isAdjustedToUTC=false, timeUnit={text}"
        assert types(written(ParquetTimestamps(unit=unit))) == [stamp, stamp, clock]


@pytest.mark.usefixtures("in_berlin")
def test_int96_is_an_instant_of_the_local_time() -> None:
    file = written(ParquetTimestamps())

    assert instant_columns(file) == {"at", "instant"}
    assert local(file.read().column("at")) == [AT, None]
    stored = file.read(["at", "instant"]).to_pylist()[0]
    assert stored["instant"].to_pydatetime() == AT
    assert stored["at"].to_pydatetime() == AT - datetime.timedelta(hours=2)


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize("timestamps", [ParquetTimestamps(is_utc=True), ParquetTimestamps(unit="us")])
def test_dates_and_times_of_utc_and_of_int64_stand_as_they_are(timestamps: ParquetTimestamps) -> None:
    rows = (
        written(timestamps)
        .read(["at", "instant"])
        .cast(pa.schema([("at", pa.timestamp("us")), ("instant", pa.timestamp("us"))]))
    )

    assert rows.to_pylist() == [{"at": AT, "instant": AT}, {"at": None, "instant": None}]


def test_a_coarser_unit_cuts() -> None:
    assert written(ParquetTimestamps(unit="ms")).read(["at"]).to_pylist()[0]["at"] == AT.replace(microsecond=123000)
