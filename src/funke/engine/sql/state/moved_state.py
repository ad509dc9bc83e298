"""Converts restored state whose parts have moved: entries and rows in the order of the query as it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from funke.engine.graph.state_meaning import PartMoves
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["behind", "moved_part", "moved_rows"]

Change = Callable[[Any], Any]


def moved_part(part: GroupPart, changes: Mapping[str, Change]) -> GroupPart:
    """A part with the entries of the tables of these names changed."""
    tables = {}
    for table_id, table in part.tables.items():
        change = changes.get(table_id.name)
        if change is not None and table_id.has_ttl:
            # With a time to live an entry is a pair: the values, and when they were written.
            table = {key: (change(values), time) for key, (values, time) in table.items()}
        elif change is not None:
            table = {key: change(values) for key, values in table.items()}
        tables[table_id] = table
    return GroupPart(tables, part.event_timers, part.processing_timers)


def behind(count: int, moves: PartMoves) -> Change:
    """Moves the fields behind the first ones, which stay."""
    return lambda values: (*values[:count], *moves.moved(values[count:]))


def moved_rows(rows: ColumnBatch, moves: PartMoves, first: int = 0) -> ColumnBatch:
    """Rows with the columns of the query as it is now; the first columns stay."""
    indexes = [*range(first), *(first + index for index in moves.indexes())]
    names = [str(index) for index in range(len(indexes))]
    return rows.with_data(pa.RecordBatch.from_arrays([rows.data.column(index) for index in indexes], names=names))
