"""Results as `TableResult.print()` shows them: a frame, a row for each change, and how many there were."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.sql.results.display_width import display_width, right_aligned, truncated
from funke.engine.sql.results.value_text import value_text
from funke.engine.types.logical import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from funke.engine.types.row import Row

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["ResultColumns", "listing_lines", "query_lines"]

_KIND_HEADER = "op"
_NULL = "<NULL>"
# A sign counts as a digit.
_FIXED_WIDTHS: dict[type[DataType], int] = {
    BooleanType: 5,
    TinyIntType: 4,
    SmallIntType: 6,
    IntType: 11,
    BigIntType: 20,
    DateType: 10,
}


@dataclass(frozen=True)
class ResultColumns:
    """Names and types of a result's columns, and the zone that instants are shown in."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]
    zone: datetime.tzinfo | None = None

    def strings(self, row: Sequence[SqlValue] | Row, null_text: str) -> list[str]:
        """Return the values of a row as texts."""
        return [
            null_text if value is None else value_text(value, data_type, self.zone)
            for value, data_type in zip(row, self.types)
        ]


def query_lines(columns: ResultColumns, rows: Iterable[Row], is_streaming: bool, max_width: int = 30) -> Iterator[str]:
    """Give the lines of a query's result, each as soon as its row is there: widths follow from the types.

    >>> from funke.engine.types.logical.data_types import DataTypes
    >>> print(*query_lines(ResultColumns(("a",), (DataTypes.INT(),)), [Row(1)], is_streaming=True), sep="\\n")
    +----+-------------+
    | op |           a |
    +----+-------------+
    | +I |           1 |
    +----+-------------+
    1 row in set
    """
    widths = [_typed_width(name, data_type, max_width) for name, data_type in zip(columns.names, columns.types)]
    kinds = (_KIND_HEADER,) if is_streaming else ()
    widths = [*map(len, kinds), *widths]
    strings = ([*((str(row.get_row_kind()),) if is_streaming else ()), *columns.strings(row, _NULL)] for row in rows)
    return _framed([*kinds, *columns.names], widths, strings)


def listing_lines(columns: ResultColumns, rows: Iterable[Sequence[SqlValue]]) -> Iterator[str]:
    """Give the lines of what SHOW, DESCRIBE and their kin answer: widths follow from the values, NULL is empty."""
    strings = [columns.strings(row, "") for row in rows]
    widths = [max(map(display_width, column)) for column in zip(columns.names, *strings)]
    return _framed(list(columns.names), widths, strings)


def _framed(names: list[str], widths: list[int], rows: Iterable[list[str]]) -> Iterator[str]:
    border = "+" + "".join(f"{'-' * (width + 2)}+" for width in widths)
    count = 0
    for count, row in enumerate(rows, 1):
        if count == 1:
            yield from (border, _line(names, widths), border)
        yield _line(row, widths)
    if count == 0:
        yield "Empty set"
        return
    yield border
    yield f"{count} {'row' if count == 1 else 'rows'} in set"


def _line(strings: Sequence[str], widths: Sequence[int]) -> str:
    cells = (f" {right_aligned(truncated(text, width), width)} |" for text, width in zip(strings, widths))
    return "|" + "".join(cells)


def _typed_width(name: str, data_type: DataType, max_width: int) -> int:
    """Return the room for any value of a type, for its column's name, and for <NULL>, even where it cannot be."""
    return max(_value_width(data_type, max_width), display_width(name), len(_NULL))


def _value_width(data_type: DataType, max_width: int) -> int:
    if type(data_type) in _FIXED_WIDTHS:
        return _FIXED_WIDTHS[type(data_type)]
    if isinstance(data_type, DecimalType):
        # A sign and a point.
        return data_type.precision + 2
    if isinstance(data_type, TimeType):
        return _with_fraction(8, data_type.precision)
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        # As wide as the whole milli-, micro- or nanoseconds that the precision needs.
        return _with_fraction(19, -(-data_type.precision // 3) * 3)
    return max_width


def _with_fraction(width: int, precision: int) -> int:
    return width + 1 + precision if precision else width
