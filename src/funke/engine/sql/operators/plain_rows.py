"""Rows as tuples of plain values, for operators that keep lists of them and look at one row after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.graph.state_meaning import PartMoves
from funke.engine.sql.state.moved_state import moved_part
from funke.engine.sql.state.rows.stored_rows import to_plain
from funke.engine.state.snapshot.file_format import GroupPart

if TYPE_CHECKING:
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["Values", "column_of", "moved_lists", "index_of", "plain_values", "require_rows", "row_lists"]

Values = tuple[Any, ...]
# Stands for NaN, which is not equal to itself.
_NAN = "NaN"


def row_lists(count: int) -> tuple[Any, ...]:
    """A column of state: an empty list for each key."""
    return (np.fromiter(([] for _ in range(count)), object, count),)


def require_rows(
    parts: Iterable[tuple[int, GroupPart]], table: str, width: int, is_sorted: bool = False
) -> Iterator[tuple[int, GroupPart]]:
    """Passes parts on; StateError if their rows have another number of values, as those of another query may."""
    for group, part in parts:
        for table_id, entries in part.tables.items():
            first = next(iter(entries.values()), None) if table_id.name == table else None
            # One entry is enough: those of a table are all of the same query.
            rows = [] if first is None else (first[0] if table_id.has_ttl else first)[0]
            count = len(rows[0][1] if is_sorted else rows[0]) if rows else width
            if count != width:
                raise StateError(
                    f"a row of '{table}' has {count} values, and this query keeps {width}: it is the state of another "
                    "query"
                )
        yield group, part


def moved_lists(part: GroupPart, table: str, moves: PartMoves | None, is_sorted: bool = False) -> GroupPart:
    """Lists of rows, perhaps each with what it is sorted by in front, with their values where they are now."""
    if moves is None:
        return part
    moved = moves.moved

    def of_key(entry: tuple[list[Any]]) -> tuple[list[Any]]:
        (rows,) = entry
        return ([(order, moved(values)) for order, values in rows] if is_sorted else list(map(moved, rows)),)

    return moved_part(part, {table: of_key})


def plain_values(column: pa.Array) -> list[SqlValue]:
    """Values that are equal if those of the column are."""
    values: list[Any] = to_plain(column).to_pylist()
    return (
        [_NAN if each is not None and isnan(each) else each for each in values]
        if pa.types.is_floating(column.type)
        else values
    )


def column_of(values: tuple[SqlValue, ...], kind: pa.DataType) -> pa.Array:
    """The column of plain values."""
    if pa.types.is_floating(kind):
        return pa.array([None if each is None else float(each) for each in values], kind)
    if not pa.types.is_temporal(kind):
        return pa.array(values, kind)
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def index_of(row: Values, rows: Sequence[Values], columns: Sequence[int]) -> int | None:
    """The index of the first row with the same values in these columns; None if there is none."""
    values = [row[column] for column in columns]
    return next((at for at, each in enumerate(rows) if [each[column] for column in columns] == values), None)
