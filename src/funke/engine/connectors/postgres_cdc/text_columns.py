"""Values as PostgreSQL writes them as texts, as columns with the types of a table."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.table.text_cells import cell_reader, fitted_decimal
from funke.engine.types.logical import (
    APPROXIMATE,
    BINARY,
    CHARACTER,
    INTEGRAL,
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    to_column_type,
    to_sql_text,
)

__all__ = ["column_reader"]

Make = Callable[[Any], Any]


def column_reader(name: str, data_type: DataType) -> Make:
    """What makes a column of an Arrow array of texts."""
    make = _column(data_type)

    def read(strings: Any) -> Any:
        try:
            return make(strings)
        except (pa.ArrowException, ValueError, ArithmeticError) as error:
            raise SourceError(
                f"a value of the column {name!r} does not fit {to_sql_text(data_type)}: {error}"
            ) from error

    return read


def _column(data_type: DataType) -> Make:
    arrow_type = to_column_type(data_type)
    if isinstance(data_type, CHARACTER):
        return lambda strings: strings
    if isinstance(data_type, (*INTEGRAL, *APPROXIMATE)):
        return lambda strings: strings.cast(arrow_type)
    if isinstance(data_type, BooleanType):
        return lambda strings: pc.equal(strings, "t")
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        wire = pa.timestamp("us", arrow_type.tz)
        unit = pa.timestamp("s", arrow_type.tz) if data_type.precision == 0 else arrow_type
        return lambda strings: strings.cast(wire).cast(unit, safe=False).cast(arrow_type, safe=False)
    read = _value(data_type)

    def each_value(strings: Any) -> Any:
        return pa.array([None if text is None else read(text) for text in strings.to_pylist()], arrow_type)

    return _cast_or(arrow_type, each_value) if isinstance(data_type, (DecimalType, DateType)) else each_value


def _cast_or(arrow_type: Any, otherwise: Make) -> Make:
    """Numbers with too many digits, and dates that Arrow does not know, go one by one."""

    def make(strings: Any) -> Any:
        try:
            return strings.cast(arrow_type)
        except pa.ArrowInvalid:
            return otherwise(strings)

    return make


def _value(data_type: DataType) -> Callable[[str], Any]:
    if isinstance(data_type, CHARACTER):
        return str
    if isinstance(data_type, BooleanType):
        return lambda text: text == "t"
    if isinstance(data_type, INTEGRAL):
        return int
    if isinstance(data_type, APPROXIMATE):
        return float
    if isinstance(data_type, DecimalType):
        return lambda text: fitted_decimal(Decimal(text), data_type.precision, data_type.scale)
    if isinstance(data_type, BINARY):
        return lambda text: bytes.fromhex(text.removeprefix("\\x"))
    if isinstance(data_type, ArrayType):
        element = _value(data_type.element_type)
        return lambda text: [None if each is None else element(each) for each in _elements(text)]
    if isinstance(data_type, (DateType, TimeType)):
        return cell_reader(data_type)
    if isinstance(data_type, TimestampType):
        return cell_reader(data_type)
    raise UnsupportedFeatureError(f"{to_sql_text(data_type)} for changes of PostgreSQL")


def _elements(text: str) -> list[str | None]:
    """The elements of an array of one dimension.

    >>> _elements('{1,NULL,"a \\\\"b\\\\", c"}')
    ['1', None, 'a "b", c']
    """
    if text.startswith("["):  # bounds other than from 1 on
        text = text.partition("=")[2]
    elements: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        if text[at] == "{":
            raise ValueError("arrays of several dimensions are not read")
        if text[at] == '"':
            element, at = _quoted(text, at + 1)
            elements.append(element)
        else:
            stop = text.find(",", at)
            stop = end if stop < 0 else stop
            word = text[at:stop]
            elements.append(None if word.upper() == "NULL" else word)
            at = stop
        at += 1
    return elements


def _quoted(text: str, at: int) -> tuple[str, int]:
    signs = []
    while text[at] != '"':
        at += text[at] == "\\"
        signs.append(text[at])
        at += 1
    return "".join(signs), at + 1
