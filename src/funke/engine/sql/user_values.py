"""Values of the engine as programs see them, in results and as arguments of their functions."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from funke.engine.types.bitmap_bytes import opened, stored
from funke.engine.types.logical import (
    BINARY,
    ArrayType,
    BitmapType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
    UserDefinedType,
    VariantType,
)
from funke.engine.types.logical.element_types import to_fields
from funke.engine.types.number_text import shortest_float32
from funke.engine.types.row import Row
from funke.engine.types.variant_text import shown_text

__all__ = ["from_user_value", "to_user_value"]

# The most digits that a DECIMAL has.
_LONGEST = 38
_MILLISECOND = datetime.timedelta(milliseconds=1)

Convert = Callable[[Any], Any]


def to_user_value(data_type: DataType, is_collected: bool = False) -> Convert | None:
    """Return the conversion of engine values to program values: rows are Rows, lengths of time are timedeltas.

    None if they are the same. As in PyFlink, fields of collected rows have no names, those of arguments have; a
    collected FLOAT has its shortest digits (0.1), an argument those of its 32 bits (0.10000000149011612); and collected
    BYTES are a bytearray.
    """
    if isinstance(data_type, RowType):
        names = None if is_collected else data_type.names
        parts = [to_user_value(each.data_type, is_collected) for each in data_type]
        return _or_none(lambda row: _row(names, [_applied(*each) for each in zip(parts, row)]))
    if isinstance(data_type, ArrayType):
        element = to_user_value(data_type.element_type, is_collected)
        return None if element is None else _or_none(lambda items: [element(each) for each in items])
    if isinstance(data_type, (MapType, MultisetType)):
        return _map_convert(data_type, is_collected)
    if isinstance(data_type, FloatType):
        return _or_none(shortest_float32) if is_collected else None
    if isinstance(data_type, BINARY):
        return _or_none(bytearray) if is_collected else None
    if isinstance(data_type, VariantType):
        return _or_none(shown_text)
    if isinstance(data_type, DayTimeIntervalType):
        return _or_none(lambda millis: datetime.timedelta(milliseconds=millis))
    return None


def _map_convert(data_type: MapType | MultisetType, is_collected: bool) -> Convert | None:
    key_type = data_type.element_type if isinstance(data_type, MultisetType) else data_type.key_type
    # A bytearray cannot be a key.
    key = to_user_value(key_type, is_collected and not isinstance(key_type, BINARY))
    value = None if isinstance(data_type, MultisetType) else to_user_value(data_type.value_type, is_collected)
    if key is None and value is None:
        return None
    return _or_none(
        lambda entries: {_applied(key, first): _applied(value, second) for first, second in entries.items()}
    )


def _row(names: list[str] | None, values: list[Any]) -> Row:
    row = Row(*values)
    if names is not None:
        row.set_field_names(names)
    return row


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _applied(convert: Convert | None, value: Any) -> Any:
    return value if convert is None else convert(value)


def from_user_value(data_type: DataType, is_element: bool = False) -> Convert | None:
    """Return what turns a program's value into the engine's; None if they are the same.

    DECIMALs with too many digits behind the point are rounded: results of functions half to even. Elements of a table
    pass through Java in Flink: they are rounded half up, and what has too many digits before the point is NULL.
    """
    if isinstance(data_type, RowType):
        return _or_none(_row_reader(data_type, is_element))
    if isinstance(data_type, ArrayType):
        element = from_user_value(data_type.element_type, is_element)
        return _or_none(lambda items: list(items) if element is None else [element(each) for each in items])
    if isinstance(data_type, MapType):
        key, value = (from_user_value(each, is_element) for each in (data_type.key_type, data_type.value_type))
        if key is None and value is None:
            return None
        return _or_none(lambda items: {_applied(key, one): _applied(value, other) for one, other in items.items()})
    if isinstance(data_type, DecimalType):
        return _element_decimal(data_type) if is_element else _rounded_decimal(data_type)
    if isinstance(data_type, DayTimeIntervalType):
        return lambda value: value // _MILLISECOND if isinstance(value, datetime.timedelta) else value
    if isinstance(data_type, DateType):
        return lambda value: value.date() if isinstance(value, datetime.datetime) else value
    if isinstance(data_type, BitmapType):
        return _or_none(lambda value: stored(opened(bytes(value))))
    if isinstance(data_type, UserDefinedType):
        return _or_none(data_type.serialize)
    return None


def _row_reader(data_type: RowType, is_element: bool) -> Convert:
    parts = [from_user_value(each.data_type, is_element) for each in data_type]
    return lambda row: tuple(_applied(*each) for each in zip(parts, to_fields(row, data_type)))


def _rounded_decimal(data_type: DecimalType) -> Convert:
    last, context = Decimal(1).scaleb(-data_type.scale), Context(_LONGEST, ROUND_HALF_EVEN)
    return lambda value: value.quantize(last, context=context) if isinstance(value, Decimal) else value


def _element_decimal(data_type: DecimalType) -> Convert:
    last, context = Decimal(1).scaleb(-data_type.scale), Context(2 * _LONGEST, ROUND_HALF_UP)
    bound = Decimal(1).scaleb(data_type.precision - data_type.scale)

    def convert(value: Any) -> Any:
        if not isinstance(value, Decimal):
            return value
        rounded = value.quantize(last, context=context)
        return rounded if -bound < rounded < bound else None

    return convert
