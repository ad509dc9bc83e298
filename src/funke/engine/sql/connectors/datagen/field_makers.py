"""Generators of columns, by type and the options `fields.<column>.…`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.datagen.value_makers import (
    ArrayMaker,
    BooleanMaker,
    BytesMaker,
    DecimalMaker,
    FloatMaker,
    IntegerMaker,
    MapMaker,
    NowMaker,
    RowMaker,
    SequenceMaker,
    TextMaker,
    ValueMaker,
)
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.types.logical import (
    LONGEST,
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
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    to_sql_text,
)

__all__ = ["FIELD_OPTIONS", "Field", "FieldOptions", "made_field"]

KIND = TableOption("fields.#.kind", default="random", description="'random' or 'sequence'.")
MIN = TableOption("fields.#.min", "Number", None, "The least random number; the least of the type by default.")
MAX = TableOption("fields.#.max", "Number", None, "The greatest random number; the greatest of the type by default.")
MAX_PAST = TableOption("fields.#.max-past", "Duration", "0 ms", "How far back random timestamps may lie.")
LENGTH = TableOption(
    "fields.#.length",
    "Integer",
    None,
    "The length of random texts and bytes (100, or that of the type) and the size of collections (3).",
)
VAR_LEN = TableOption("fields.#.var-len", "Boolean", "false", "Random texts and bytes are up to so long.")
START = TableOption("fields.#.start", "Number", None, "The first number of a sequence.")
END = TableOption("fields.#.end", "Number", None, "The last number of a sequence; behind it the table ends.")
NULL_RATE = TableOption("fields.#.null-rate", "Double", "0", "The part of random values that are NULL, from 0 to 1.")
FIELD_OPTIONS = (KIND, MIN, MAX, MAX_PAST, LENGTH, VAR_LEN, START, END, NULL_RATE)

_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_TEXT_LENGTH = 100
_COLLECTION_SIZE = 3
# Flink's default bounds. MIN_VALUE of Java is the least positive number, so random floats are never negative.
_FLOAT_MAX, _FLOAT_MIN = 3.4028234663852886e38, 1.401298464324817e-45
_DOUBLE_MAX, _DOUBLE_MIN = 1.7976931348623157e308, 5e-324
_SEQUENCES = (
    *_BITS,
    CharType,
    VarCharType,
    BinaryType,
    VarBinaryType,
    DecimalType,
    FloatType,
    DoubleType,
)


@dataclass(frozen=True)
class Field:
    """The generator of a column, its options, and for a sequence the number of its rows."""

    maker: ValueMaker
    options: tuple[TableOption, ...]
    rows: int | None = None


class FieldOptions:
    """The options of one column. It records those that were read: only these are valid for the type of the column."""

    def __init__(self, name: str, values: OptionValues) -> None:
        self.name = name
        self.values = values
        self.used: list[TableOption] = []

    def get(self, option: TableOption, kind: str | None = None, default: Any = None) -> Any:
        own = replace(option, key=option.key.replace("#", self.name), type=kind or option.type)
        self.used.append(own)
        value = self.values[own]
        return default if value is None else value

    def inner(self, name: str) -> FieldOptions:
        inside = FieldOptions(f"{self.name}.{name}", self.values)
        inside.used = self.used
        return inside


def made_field(name: str, data_type: DataType, values: OptionValues) -> Field:
    """Return the generator of a column; rejects kinds that its type does not have."""
    options = FieldOptions(name, values)
    if f"fields.{name}.var-len" in values.strings and not isinstance(data_type, (VarCharType, VarBinaryType)):
        raise ValidationException(
            "Only supports specifying 'fields.#.var-len' option for variable-length types "
            f"(VARCHAR/STRING/VARBINARY/BYTES). The type of field '{name}' is not within this range."
        )
    kind = options.get(KIND)
    if kind == "sequence":
        return _sequence(data_type, options)
    if kind != "random":
        raise ValidationException(f"Unsupported generator kind: {kind}")
    maker = _random(data_type, options)
    return Field(maker, tuple(options.used))


def _sequence(data_type: DataType, options: FieldOptions) -> Field:
    if not isinstance(data_type, _SEQUENCES):
        raise ValidationException(f"Unsupported type: {to_sql_text(data_type)}")
    bounds = []
    for option in (START, END):
        bound = options.get(option, "Long")
        if bound is None:
            key = option.key.replace("#", options.name)
            raise ValidationException(f"Could not find required property '{key}' for sequence generator.")
        bounds.append(bound)
    start, end = bounds
    return Field(SequenceMaker(data_type, 0.0, start), tuple(options.used), max(0, end - start + 1))


def _random(data_type: DataType, options: FieldOptions) -> ValueMaker:
    null_rate = options.get(NULL_RATE)
    if isinstance(data_type, tuple(_BITS)):
        limit = 1 << (_BITS[type(data_type)] - 1)
        least, most = options.get(MIN, "Long", -limit), options.get(MAX, "Long", limit - 1)
        return IntegerMaker(data_type, null_rate, *_ordered(least, most))
    for kind, make in _MAKERS.items():
        if isinstance(data_type, kind):
            return make(data_type, null_rate, options)
    raise ValidationException(f"Unsupported type: {to_sql_text(data_type)}")


def _ordered(least: Any, most: Any) -> tuple[Any, Any]:
    if least > most:
        raise ValidationException(f"min bound must be below max bound: {least}, {most}")
    return least, most


def _float(data_type: DataType, null_rate: float, options: FieldOptions) -> ValueMaker:
    is_float = isinstance(data_type, FloatType)
    least = options.get(MIN, "Double", _FLOAT_MIN if is_float else _DOUBLE_MIN)
    return FloatMaker(
        data_type, null_rate, *_ordered(least, options.get(MAX, "Double", _FLOAT_MAX if is_float else _DOUBLE_MAX))
    )


def _decimal(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    unit, limit = 10**data_type.scale, 10**data_type.precision - 1
    least, most = options.get(MIN, "Double"), options.get(MAX, "Double")
    bounds = (0 if least is None else round(least * unit), limit if most is None else round(most * unit))
    least, most = _ordered(*bounds)
    return DecimalMaker(data_type, null_rate, max(-limit, least), min(limit, most))


def _text(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    return TextMaker(data_type, null_rate, *_length(data_type, options))


def _bytes(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    return BytesMaker(data_type, null_rate, *_length(data_type, options))


def _length(data_type: Any, options: FieldOptions) -> tuple[int, bool]:
    is_fixed = isinstance(data_type, (CharType, BinaryType))
    natural = _TEXT_LENGTH if data_type.length == LONGEST else data_type.length
    length, is_varying = options.get(LENGTH, default=natural), options.get(VAR_LEN)
    if is_fixed and length != natural:
        raise ValidationException(
            f"Custom length for fixed-length type (CHAR/BINARY) field '{options.name}' is not supported."
        )
    if length > data_type.length:
        raise ValidationException(
            f"Custom length '{length}' for variable-length type (VARCHAR/STRING/VARBINARY/BYTES) field "
            f"'{options.name}' should be shorter than '{data_type.length}' defined in the schema."
        )
    return length, is_varying


def _now(data_type: DataType, null_rate: float, options: FieldOptions) -> ValueMaker:
    offset = datetime.datetime.now().astimezone().utcoffset() or datetime.timedelta()
    has_zone = isinstance(data_type, LocalZonedTimestampType)
    past = 0
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        past = options.get(MAX_PAST).to_millis()
    return NowMaker(data_type, null_rate, past, 0 if has_zone else round(offset.total_seconds() * 1000))


def _interval(least: int, most: int) -> Callable[[DataType, float, FieldOptions], ValueMaker]:
    def make(data_type: DataType, null_rate: float, options: FieldOptions) -> ValueMaker:
        low, high = options.get(MIN, "Long", least), options.get(MAX, "Long", most)
        return IntegerMaker(data_type, null_rate, *_ordered(low, high))

    return make


def _array(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    size = options.get(LENGTH, default=_COLLECTION_SIZE)
    return ArrayMaker(data_type, null_rate, _random(data_type.element_type, options.inner("element")), size)


def _map(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    size = options.get(LENGTH, default=_COLLECTION_SIZE)
    key = _random(data_type.key_type, options.inner("key"))
    return MapMaker(data_type, null_rate, key, _random(data_type.value_type, options.inner("value")), size)


def _multiset(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    size = options.get(LENGTH, default=_COLLECTION_SIZE)
    element = _random(data_type.element_type, options.inner("element"))
    return MapMaker(data_type, null_rate, element, IntegerMaker(IntType(False), 0.0, 0, 9), size)


def _row(data_type: Any, null_rate: float, options: FieldOptions) -> ValueMaker:
    return RowMaker(
        data_type, null_rate, tuple(_random(each.data_type, options.inner(each.name)) for each in data_type)
    )


_MAKERS: dict[type[DataType], Callable[[Any, float, FieldOptions], ValueMaker]] = {
    BooleanType: lambda data_type, null_rate, _: BooleanMaker(data_type, null_rate),
    FloatType: _float,
    DoubleType: _float,
    DecimalType: _decimal,
    CharType: _text,
    VarCharType: _text,
    BinaryType: _bytes,
    VarBinaryType: _bytes,
    DateType: _now,
    TimeType: _now,
    TimestampType: _now,
    LocalZonedTimestampType: _now,
    # Flink's default: up to 10 000 years, in months.
    YearMonthIntervalType: _interval(0, 120_000),
    DayTimeIntervalType: _interval(0, (1 << 63) - 1),
    ArrayType: _array,
    MapType: _map,
    MultisetType: _multiset,
    RowType: _row,
}
