"""CSV and Parquet files whose columns are described by data types."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from funke.common import Instant, Row, Types
from funke.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvRowDeserializationSchema, CsvSchema
from funke.datastream.formats.orc import OrcBulkWriters
from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import TypeMismatchError
from funke.engine.formats.column_types import to_type_info
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo
from funke.table import DataTypes
from funke.table.types import DataType
from tests.unit.connectors.source_draining import drain

FIELDS = [
    DataTypes.FIELD("flag", DataTypes.BOOLEAN()),
    DataTypes.FIELD("tiny", DataTypes.TINYINT()),
    DataTypes.FIELD("large", DataTypes.BIGINT()),
    DataTypes.FIELD("ratio", DataTypes.FLOAT()),
    DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
    DataTypes.FIELD("name", DataTypes.STRING()),
    DataTypes.FIELD("raw", DataTypes.BYTES()),
    DataTypes.FIELD("day", DataTypes.DATE()),
    DataTypes.FIELD("time", DataTypes.TIME(3)),
    DataTypes.FIELD("moment", DataTypes.TIMESTAMP(3)),
    DataTypes.FIELD("instant", DataTypes.TIMESTAMP_LTZ(3)),
    DataTypes.FIELD("numbers", DataTypes.ARRAY(DataTypes.INT())),
    DataTypes.FIELD("counts", DataTypes.MAP(DataTypes.STRING(), DataTypes.DECIMAL(4, 1))),
    DataTypes.FIELD("inner", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])),
]
VALUES = [
    True,
    -1,
    2**40,
    0.5,
    Decimal("1.50"),
    "text",
    b"xyz",
    datetime.date(2020, 1, 2),
    datetime.time(1, 2, 3, 4000),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
    datetime.datetime(1970, 1, 1, 0, 0, 5, 1000, datetime.UTC),
    [1, 2],
    {"a": Decimal("7.5")},
    Row(x=7),
]


def write(path: Path, factory: Any, rows: list[Row]) -> None:
    with path.open("wb") as stream:
        writer = factory.bulk_format.create_writer(stream, None)
        writer.write(rows)
        writer.finish()


def price_schema(data_type: DataType) -> CsvSchema:
    return CsvSchema.builder().add_number_column("price", number_type=data_type).set_null_value("-").build()


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        (DataTypes.SMALLINT(), Types.SHORT()),
        (DataTypes.CHAR(3), Types.STRING()),
        (DataTypes.VARBINARY(3), Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (DataTypes.TIMESTAMP_LTZ(), ZonedTimestampTypeInfo()),
        (DataTypes.DECIMAL(10, 2), DecimalTypeInfo(10, 2)),
        (DataTypes.ARRAY(DataTypes.INT()), Types.LIST(Types.INT())),
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), Types.ROW_NAMED(["a"], [Types.INT()])),
    ],
)
def test_stream_types_of_data_types(data_type: DataType, expected: Any) -> None:
    assert to_type_info(data_type) == expected


def test_a_type_that_streams_do_not_have() -> None:
    with pytest.raises(TypeMismatchError, match="MultisetType"):
        CsvSchema.builder().add_number_column("a", DataTypes.MULTISET(DataTypes.INT()))


def test_parquet_rows_come_back(tmp_path: Path) -> None:
    row_type = DataTypes.ROW(FIELDS)
    row = Row(**dict(zip(row_type.names, VALUES)))
    nulls = Row(**dict.fromkeys(row_type.names))
    path = tmp_path / "rows.parquet"

    write(path, ParquetBulkWriters.for_row_type(row_type), [row, nulls])
    reading: Any = ParquetColumnarRowInputFormat(row_type)

    assert drain(FileSource([str(path)], reading.engine_format)) == [row, nulls]
    assert pq.read_schema(path).field("price").type == pa.decimal128(10, 2)


@pytest.fixture
def in_shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[datetime.timezone]:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield datetime.timezone(datetime.timedelta(hours=8))
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("is_utc", "hour"), [(False, 20), (True, 12)])
def test_timestamps_with_a_zone_are_datetimes_of_the_zone(
    tmp_path: Path, in_shanghai: datetime.timezone, is_utc: bool, hour: int
) -> None:
    noon = datetime.datetime(1970, 2, 3, 12, 5, 6, 700000, datetime.UTC)
    row_type = DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIMESTAMP_LTZ(3))])
    path = tmp_path / "rows.parquet"
    since_epoch = Instant.of_epoch_milli(round(noon.timestamp() * 1000))
    write(path, ParquetBulkWriters.for_row_type(row_type), [Row(since_epoch), Row(noon), Row(None)])
    reading: Any = ParquetColumnarRowInputFormat(row_type, is_utc_timestamp=is_utc)

    expected = datetime.datetime(1970, 2, 3, hour, 5, 6, 700000, in_shanghai)
    rows = drain(FileSource([str(path)], reading.engine_format))

    assert rows == [Row(t=expected), Row(t=expected), Row(t=None)]
    assert rows[0]["t"].utcoffset() == datetime.timedelta(hours=8)


def test_zoned_timestamps_keep_milliseconds_between_operators() -> None:
    coerce: Any = ZonedTimestampTypeInfo().coercer()
    timestamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901, datetime.UTC)

    assert coerce(timestamp) == timestamp.replace(microsecond=678000)
    assert coerce(None) is None
    with pytest.raises(TypeMismatchError, match="needs a zone"):
        coerce(timestamp.replace(tzinfo=None))


def test_parquet_reads_the_columns_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, ParquetBulkWriters.for_row_type(DataTypes.ROW(FIELDS)), [Row(*VALUES)])
    reading: Any = ParquetColumnarRowInputFormat(DataTypes.ROW([FIELDS[5], FIELDS[2]]))

    assert drain(FileSource([str(path)], reading.engine_format)) == [Row(name="text", large=2**40)]


def test_orc_files_have_the_declared_decimals(tmp_path: Path) -> None:
    from pyarrow import orc

    path = tmp_path / "rows.orc"
    write(path, OrcBulkWriters.for_row_type(DataTypes.ROW([FIELDS[4]])), [Row(Decimal("1.005"))])

    assert orc.read_table(str(path)).to_pylist() == [{"price": Decimal("1.01")}]


def test_orc_fills_up_characters(tmp_path: Path) -> None:
    from pyarrow import orc

    path = tmp_path / "rows.orc"
    fields = [
        DataTypes.FIELD("c", DataTypes.CHAR(6)),
        DataTypes.FIELD("v", DataTypes.VARCHAR(6)),
        DataTypes.FIELD("r", DataTypes.ROW([DataTypes.FIELD("c", DataTypes.CHAR(2))])),
    ]
    factory = OrcBulkWriters.for_row_type(DataTypes.ROW(fields))
    write(path, factory, [Row("tea", "tea", Row("x")), Row("too long", "", Row(None)), Row(None, None, None)])

    assert orc.read_table(str(path)).to_pylist() == [
        {"c": b"tea   ", "v": "tea", "r": {"c": b"x "}},
        {"c": b"too lo", "v": "", "r": {"c": None}},
        {"c": None, "v": None, "r": None},
    ]
    with pytest.raises(TypeMismatchError, match=r"does not fit into CHAR\(6\).*declare the column as VARCHAR"):
        write(path, factory, [Row("äöüßéè", "", None)])


# What PyFlink 2.3 writes for the same decimals.
@pytest.mark.parametrize(
    ("data_type", "number", "text"),
    [
        (DataTypes.DECIMAL(10, 2), "12.345", "12.35"),
        (DataTypes.DECIMAL(10, 2), "-0.005", "-0.01"),
        (DataTypes.DECIMAL(10, 2), "1.50", "1.5"),
        (DataTypes.DECIMAL(10, 2), "100.00", "1E+2"),
        (DataTypes.DECIMAL(10, 2), "1E-7", "0"),
        (DataTypes.DECIMAL(5, 0), "-7.50", "-8"),
        (DataTypes.DECIMAL(38, 18), "1E-7", "1E-7"),
        (
            DataTypes.DECIMAL(38, 18),
            "12345678901234567890.123456789012345678",
            "12345678901234567890.123456789012345678",
        ),
        (DataTypes.DECIMAL(20, 18), "123.5", "-"),
    ],
)
def test_decimals_in_csv(tmp_path: Path, data_type: DataType, number: str, text: str) -> None:
    path = tmp_path / "out.csv"
    write(path, CsvBulkWriters.for_schema(price_schema(data_type)), [Row(Decimal(number))])

    assert path.read_text() == text + "\n"


def test_a_decimal_that_has_no_null_is_rejected(tmp_path: Path) -> None:
    row_type = DataTypes.ROW([DataTypes.FIELD("price", DataTypes.DECIMAL(4, 2))])
    for factory in (
        CsvBulkWriters.for_schema(price_schema(DataTypes.DECIMAL(4, 2))),
        ParquetBulkWriters.for_row_type(row_type),
    ):
        with pytest.raises(TypeMismatchError, match=r"123.4 does not fit into DECIMAL\(4, 2\)"):
            write(tmp_path / "out", factory, [Row(Decimal("123.4"))])


def test_csv_columns_of_data_types(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_number_column("tiny", DataTypes.TINYINT())
        .add_number_column("price", DataTypes.DECIMAL(10, 2))
        .add_array_column("numbers", "#", DataTypes.INT())
        .add_array_column("names")
        .build()
    )
    path = tmp_path / "in.csv"
    rows = [Row(tiny=-1, price=Decimal("12.35"), numbers=[1, 2], names=["x", "y"])]

    write(path, CsvBulkWriters.for_schema(schema), rows)
    reading: Any = CsvReaderFormat.for_schema(schema)

    assert path.read_text() == '-1,12.35,"1#2",x;y\n'
    assert drain(FileSource([str(path)], reading.engine_format)) == rows


def test_messages_may_be_described_by_a_row_type() -> None:
    row_type: Any = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("name", DataTypes.STRING())])
    schema = CsvRowDeserializationSchema.Builder(row_type).build()

    assert schema.deserialize(b"1,a") == Row(id=1, name="a")


def test_small_negative_decimals_are_zero() -> None:
    assert str(DecimalTypeInfo(5, 1).fitted(Decimal("-0.04"))) == "0.0"


def test_decimal_types_compare_by_their_digits() -> None:
    assert DecimalTypeInfo(10, 2) == DecimalTypeInfo(10, 2) != DecimalTypeInfo(10, 3)
    assert DecimalTypeInfo(10, 2) != Types.BIG_DEC()
    assert repr(DecimalTypeInfo(10, 2)) == "BigDecimal(10, 2)"
