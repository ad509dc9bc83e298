"""Data types look, compare and convert as in PyFlink; the texts here are what PyFlink 2.3 shows."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import pytest

from funke.engine.errors import ConfigurationError
from funke.table.types import (
    DataType,
    DataTypes,
    DayTimeIntervalType,
    RawType,
    Resolution,
    UserDefinedType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

SHOWN = [
    (DataTypes.NULL(), "NullType(true)", "NULL"),
    (DataTypes.CHAR(3), "CharType(3, true)", "CHAR"),
    (DataTypes.VARCHAR(5, False), "VarCharType(5, false)", "VARCHAR"),
    (DataTypes.STRING(), "VarCharType(2147483647, true)", "VARCHAR"),
    (DataTypes.BOOLEAN(), "BooleanType(true)", "BOOLEAN"),
    (DataTypes.BINARY(4), "BinaryType(4, true)", "BINARY"),
    (DataTypes.BYTES(), "VarBinaryType(2147483647, true)", "VARBINARY"),
    (DataTypes.DECIMAL(10, 2), "DecimalType(10, 2, true)", "DECIMAL"),
    (DataTypes.BIGINT(), "BigIntType(true)", "BIGINT"),
    (DataTypes.TIME(), "TimeType(0, true)", "TIME"),
    (DataTypes.TIMESTAMP(3, False), "TimestampType(3, false)", "TIMESTAMP"),
    (DataTypes.TIMESTAMP_LTZ(), "LocalZonedTimestampType(6, true)", "LOCALZONEDTIMESTAMP"),
    (ZonedTimestampType(), "ZonedTimestampType(6, true)", "ZONEDTIMESTAMP"),
    (DataTypes.ARRAY(DataTypes.INT(False)), "ArrayType(IntType(false), true)", "ARRAY"),
    (DataTypes.MULTISET(DataTypes.INT(), False), "MultisetType(IntType(true), false)", "MULTISET"),
    (DataTypes.MAP(DataTypes.INT(), DataTypes.DATE()), "MapType(IntType(true), DateType(true), true)", "MAP"),
    (DataTypes.LIST_VIEW(DataTypes.INT()), "ListViewType(IntType(true))", "LISTVIEW"),
    (DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.INT()), "MapViewType(IntType(true), IntType(true))", "MAPVIEW"),
    (DataTypes.INTERVAL(DataTypes.MONTH()), "YearMonthIntervalType(true)", "YEARMONTHINTERVAL"),
    (DataTypes.INTERVAL(DataTypes.SECOND(3)), "DayTimeIntervalType(true)", "DAYTIMEINTERVAL"),
]


@pytest.mark.parametrize(("data_type", "text", "name"), SHOWN)
def test_strings(data_type: DataType, text: str, name: str) -> None:
    assert (repr(data_type), str(data_type)) == (text, name)
    assert hash(data_type) == hash(name)


@pytest.mark.parametrize("data_type", [each[0] for each in SHOWN])
def test_equality_sees_nullability_and_parameters(data_type: DataType) -> None:
    assert data_type == pickle.loads(pickle.dumps(data_type))
    assert data_type.not_null() != data_type.nullable()
    assert [each[1] for each in SHOWN if each[0] == data_type] == [repr(data_type)]


def test_not_null_leaves_the_type_as_it_was() -> None:
    data_type = DataTypes.DECIMAL(10, 2)

    assert repr(data_type.not_null()) == "DecimalType(10, 2, false)"
    assert repr(data_type) == "DecimalType(10, 2, true)"
    assert data_type.bridged_to("java.math.BigDecimal") is data_type
    assert data_type != DataTypes.DECIMAL(10, 2)


@pytest.mark.parametrize(
    ("data_type", "value", "stored"),
    [
        (DataTypes.DATE(), datetime.date(1970, 1, 3), 2),
        (DataTypes.INTERVAL(DataTypes.SECOND()), datetime.timedelta(days=-1, microseconds=5), -86_399_999_995),
        (DataTypes.ARRAY(DataTypes.DATE()), [datetime.date(1970, 1, 2), None], [1, None]),
        (DataTypes.MULTISET(DataTypes.DATE()), [datetime.date(1970, 1, 2)], [1]),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE()), {"a": datetime.date(1970, 1, 2)}, {"a": 1}),
        (DataTypes.INT(), 3, 3),
        (DataTypes.ARRAY(DataTypes.INT()), [3], [3]),
        (DataTypes.DATE(), None, None),
        (DataTypes.ARRAY(DataTypes.DATE()), None, None),
        (
            ZonedTimestampType(),
            datetime.datetime(1970, 1, 1, 2, 0, 0, 7, datetime.timezone(datetime.timedelta(hours=2))),
            (7_200_000_007, 7200),
        ),
        (ZonedTimestampType(), None, None),
    ],
)
def test_values_become_stored_values_and_come_back(data_type: DataType, value: Any, stored: Any) -> None:
    assert data_type.to_sql_type(value) == stored
    assert data_type.from_sql_type(stored) == value


@pytest.mark.parametrize("data_type", [DataTypes.TIMESTAMP(), DataTypes.TIMESTAMP_LTZ(3)])
def test_timestamps_are_local(data_type: DataType) -> None:
    timestamp = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)

    assert data_type.need_conversion()
    assert data_type.from_sql_type(data_type.to_sql_type(timestamp)) == timestamp
    assert data_type.to_sql_type(None) is None
    assert data_type.from_sql_type(None) is None


def test_times_are_local() -> None:
    time = datetime.time(1, 2, 3, 4)

    assert DataTypes.TIME().from_sql_type(DataTypes.TIME().to_sql_type(time)) == time


def test_timestamps_with_a_zone_are_instants() -> None:
    timestamp = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)

    assert DataTypes.TIMESTAMP().to_sql_type(timestamp) == 1_000_000


def test_views_are_no_values() -> None:
    for view in (DataTypes.LIST_VIEW(DataTypes.INT()), DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.INT())):
        with pytest.raises(Exception, match="accumulators of aggregate functions only"):
            view.from_sql_type([])


def test_raw_values_are_unpickled() -> None:
    assert RawType().from_sql_type(pickle.dumps([1])) == [1]


class Point(UserDefinedType):
    """Stored as a list of two numbers."""

    @classmethod
    def sql_type(cls) -> DataType:
        return DataTypes.ARRAY(DataTypes.DOUBLE())

    def serialize(self, obj: complex) -> list[float]:
        return [obj.real, obj.imag]

    def deserialize(self, datum: list[float]) -> complex:
        return complex(*datum)


def test_a_users_own_type() -> None:
    assert Point().to_sql_type(1 + 2j) == [1.0, 2.0]
    assert Point().from_sql_type([1.0, 2.0]) == 1 + 2j
    assert (Point().to_sql_type(None), Point().from_sql_type(None)) == (None, None)
    assert Point() == Point() != DataTypes.INT()
    assert str(Point()) == "point"
    with pytest.raises(NotImplementedError, match="module"):
        Point.module()


DAY_TIME = DayTimeIntervalType.DayTimeResolution


@pytest.mark.parametrize(
    ("upper", "lower", "resolution", "day_precision", "fractional_precision"),
    [
        (DataTypes.DAY(3), None, DAY_TIME.DAY, 3, 6),
        (DataTypes.DAY(3), DataTypes.HOUR(), DAY_TIME.DAY_TO_HOUR, 3, 6),
        (DataTypes.DAY(3), DataTypes.SECOND(9), DAY_TIME.DAY_TO_SECOND, 3, 9),
        (DataTypes.HOUR(), None, DAY_TIME.HOUR, 2, 6),
        (DataTypes.HOUR(), DataTypes.SECOND(1), DAY_TIME.HOUR_TO_SECOND, 2, 1),
        (DataTypes.MINUTE(), DataTypes.SECOND(), DAY_TIME.MINUTE_TO_SECOND, 2, 6),
        (DataTypes.SECOND(3), None, DAY_TIME.SECOND, 2, 3),
    ],
)
def test_day_time_intervals(
    upper: Resolution, lower: Resolution | None, resolution: Any, day_precision: int, fractional_precision: int
) -> None:
    interval = DataTypes.INTERVAL(upper, lower)

    assert isinstance(interval, DayTimeIntervalType)
    assert interval.resolution is resolution
    assert (interval.day_precision, interval.fractional_precision) == (day_precision, fractional_precision)


@pytest.mark.parametrize(
    ("upper", "lower", "resolution", "precision"),
    [
        (DataTypes.YEAR(4), None, YearMonthIntervalType.YearMonthResolution.YEAR, 4),
        (DataTypes.MONTH(), None, YearMonthIntervalType.YearMonthResolution.MONTH, 2),
        (DataTypes.YEAR(4), DataTypes.MONTH(), YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH, 2),
    ],
)
def test_year_month_intervals(upper: Resolution, lower: Resolution | None, resolution: int, precision: int) -> None:
    interval = DataTypes.INTERVAL(upper, lower)

    assert isinstance(interval, YearMonthIntervalType)
    assert (interval.resolution, interval.precision) == (resolution, precision)


def test_an_interval_goes_from_large_to_small() -> None:
    with pytest.raises(ConfigurationError, match="no interval from"):
        DataTypes.INTERVAL(DataTypes.SECOND(), DataTypes.DAY())


@pytest.mark.parametrize(
    "make",
    [
        lambda: DataTypes.DECIMAL(39, 1),
        lambda: DataTypes.DECIMAL(3, 4),
        lambda: DataTypes.TIME(10),
        lambda: DataTypes.TIMESTAMP(-1),
        lambda: DataTypes.ARRAY("INT"),
        lambda: DataTypes.MAP(DataTypes.INT(), "INT"),
        lambda: DataTypes.FIELD("a", "INT"),
        lambda: DataTypes.FIELD(1, DataTypes.INT()),
        lambda: DataTypes.ROW(["a"]),
        lambda: DataTypes.INTERVAL(DataTypes.YEAR(5)),
        lambda: DataTypes.INTERVAL(DataTypes.DAY(7)),
        lambda: DataTypes.INTERVAL(DataTypes.SECOND(10)),
        lambda: YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH, 3),
        lambda: DayTimeIntervalType(DAY_TIME.HOUR, 3),
        lambda: DayTimeIntervalType(DAY_TIME.DAY, 3, 4),
    ],
)
def test_wrong_parameters_are_rejected_as_in_pyflink(make: Any) -> None:
    with pytest.raises(AssertionError):
        make()
