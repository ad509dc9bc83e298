"""Columns and values of results in the JSON of Flink's SQL gateway."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Sequence
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.results.value_text import value_text
from funke.engine.types.logical import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
    to_sql_text,
)
from funke.engine.types.number_text import double_text, float_text
from funke.engine.types.row import Row, RowKind

__all__ = ["column_json", "row_json"]

_ROOTS: dict[type[DataType], str] = {
    BooleanType: "BOOLEAN",
    TinyIntType: "TINYINT",
    SmallIntType: "SMALLINT",
    IntType: "INTEGER",
    BigIntType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    DateType: "DATE",
    CharType: "CHAR",
    VarCharType: "VARCHAR",
    BinaryType: "BINARY",
    VarBinaryType: "VARBINARY",
    DecimalType: "DECIMAL",
    TimeType: "TIME_WITHOUT_TIME_ZONE",
    TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    DayTimeIntervalType: "INTERVAL_DAY_TIME",
    ArrayType: "ARRAY",
    MultisetType: "MULTISET",
    MapType: "MAP",
}
_KINDS = {
    RowKind.INSERT: "INSERT",
    RowKind.UPDATE_BEFORE: "UPDATE_BEFORE",
    RowKind.UPDATE_AFTER: "UPDATE_AFTER",
    RowKind.DELETE: "DELETE",
}
_MONTHS = {1: "YEAR", 2: "MONTH", 3: "YEAR_TO_MONTH"}
_MILLISECOND = datetime.timedelta(milliseconds=1)


def column_json(column: Column) -> dict[str, Any]:
    """A column of a result."""
    return {"name": column.name, "logicalType": _type_json(column.type), "comment": None}


def _type_json(data_type: DataType) -> dict[str, Any]:
    if isinstance(data_type, NullType):
        return {"type": "NULL"}
    root = "ROW" if isinstance(data_type, RowType) else _ROOTS.get(type(data_type))
    if root is None:
        raise UnsupportedFeatureError(f"the type {to_sql_text(data_type)} in results of the SQL gateway")
    return {"type": root, "nullable": data_type._nullable, **_parts(data_type)}


def _parts(data_type: Any) -> dict[str, Any]:
    if isinstance(data_type, CharType | VarCharType | BinaryType | VarBinaryType):
        return {"length": data_type.length}
    if isinstance(data_type, DecimalType):
        return {"precision": data_type.precision, "scale": data_type.scale}
    if isinstance(data_type, TimeType | TimestampType | ZonedTimestampType | LocalZonedTimestampType):
        return {"precision": data_type.precision}
    if isinstance(data_type, YearMonthIntervalType):
        return {"precision": data_type.precision, "resolution": _MONTHS[data_type.resolution]}
    if isinstance(data_type, DayTimeIntervalType):
        return {
            "precision": data_type.day_precision,
            "fractionalPrecision": data_type.fractional_precision,
            "resolution": data_type.resolution.name,
        }
    if isinstance(data_type, ArrayType | MultisetType):
        return {"elementType": _type_json(data_type.element_type)}
    if isinstance(data_type, MapType):
        return {"keyType": _type_json(data_type.key_type), "valueType": _type_json(data_type.value_type)}
    if isinstance(data_type, RowType):
        return {"fields": [{"name": each.name, "fieldType": _type_json(each.data_type)} for each in data_type]}
    return {}


def row_json(row: Row, types: Sequence[DataType], is_plain: bool, zone: datetime.tzinfo | None) -> str:
    """A row as JSON; `is_plain` says whether values are texts, as CAST makes them."""
    if is_plain:
        strings = ("null" if each is None else _quoted(value_text(each, kind, zone)) for each, kind in zip(row, types))
    else:
        strings = (_value_json(each, kind) for each, kind in zip(row, types))
    return f'{{"kind":"{_KINDS[row.get_row_kind()]}","fields":[{",".join(strings)}]}}'


def _value_json(value: Any, data_type: Any) -> str:
    if value is None:
        return "null"
    write = next((write for kind, write in _WRITERS if isinstance(data_type, kind)), None)
    return _quoted(value_text(value, data_type)) if write is None else write(value, data_type)


def _quoted(text: str) -> str:
    return json.dumps(text)


def _fraction(microsecond: int) -> str:
    return f".{microsecond:06d}".rstrip("0") if microsecond else ""


def _time_json(value: datetime.time, data_type: Any) -> str:
    return _quoted(f"{value:%H:%M:%S}{_fraction(value.microsecond)}")


def _timestamp_json(value: datetime.datetime, data_type: Any) -> str:
    text = value.replace(microsecond=0, tzinfo=None).isoformat() + _fraction(value.microsecond)
    return _quoted(text)


def _instant_json(value: datetime.datetime, data_type: Any) -> str:
    utc = value.astimezone(datetime.UTC)
    return _quoted(utc.replace(microsecond=0, tzinfo=None).isoformat() + _fraction(utc.microsecond) + "Z")


def _days_json(value: Any, data_type: Any) -> str:
    return str(value // _MILLISECOND if isinstance(value, datetime.timedelta) else int(value))


def _float_json(text: str) -> str:
    return text if text[-1].isdigit() else _quoted(text)


def _array_json(value: Any, data_type: Any) -> str:
    return f"[{','.join(_value_json(each, data_type.element_type) for each in value)}]"


def _map_json(value: dict[Any, Any], data_type: Any) -> str:
    entries = (
        f"{_quoted(value_text(key, data_type.key_type))}:{_value_json(each, data_type.value_type)}"
        for key, each in value.items()
    )
    return f"{{{','.join(entries)}}}"


def _multiset_json(value: Any, data_type: Any) -> str:
    counts = value if isinstance(value, dict) else {each: value.count(each) for each in value}
    entries = (f"{_quoted(value_text(key, data_type.element_type))}:{count}" for key, count in counts.items())
    return f"{{{','.join(entries)}}}"


def _fields_json(value: Any, data_type: Any) -> str:
    entries = (f"{_quoted(field.name)}:{_value_json(each, field.data_type)}" for each, field in zip(value, data_type))
    return f"{{{','.join(entries)}}}"


_Writer = Callable[[Any, Any], str]
_WRITERS: tuple[tuple[type[DataType] | tuple[type[DataType], ...], _Writer], ...] = (
    (BooleanType, lambda value, _: "true" if value else "false"),
    ((TinyIntType, SmallIntType, IntType, BigIntType, YearMonthIntervalType), lambda value, _: str(int(value))),
    (FloatType, lambda value, _: _float_json(float_text(value))),
    (DoubleType, lambda value, _: _float_json(double_text(value))),
    (DecimalType, value_text),
    ((BinaryType, VarBinaryType), lambda value, _: _quoted(base64.b64encode(value).decode())),
    (TimeType, _time_json),
    (TimestampType, _timestamp_json),
    (LocalZonedTimestampType, _instant_json),
    (DayTimeIntervalType, _days_json),
    (ArrayType, _array_json),
    (MapType, _map_json),
    (MultisetType, _multiset_json),
    (RowType, _fields_json),
)
