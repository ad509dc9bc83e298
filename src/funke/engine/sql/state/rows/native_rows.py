"""The names of join rows in the files of a state backend, and their conversion to the form of savepoints."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from funke.engine.errors import StateError
from funke.engine.sql.state.rows.packed_rows import PackedRows
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["chunked", "columns_mark", "packed_by_key", "slices_of_time", "to_column_parts"]

_BY_KEY, _BY_TIME, _IN_CHUNKS = "-by-key", "-by-time", "-in-chunks"


def packed_by_key(name: str) -> str:
    """The state that has an entry for each key: all of its rows, packed; the last column is their time."""
    return f"{name}{_BY_KEY}"


def slices_of_time(name: str) -> str:
    """The state that says which keys have rows of which time."""
    return f"{name}{_BY_TIME}"


def chunked(name: str) -> str:
    """The state that has rows as pickled batches."""
    return f"{name}{_IN_CHUNKS}"


def columns_mark(name: str) -> str:
    """The operator state that says which columns packed rows have."""
    return f"{name}-columns"


def to_column_parts(part: GroupPart, marks: Mapping[str, Sequence[Any]]) -> GroupPart:
    """A part of a backend's files with its rows as columns, as savepoints have them; other state stays as it is."""
    tables: dict[TableId, dict[Any, Any]] = {}
    for table, entries in part.tables.items():
        name = _name_of(table.name)
        if name is None:
            tables[table] = entries
            continue
        rows = tables.setdefault(TableId(name, None, False, "value"), {})
        for each in _batches(table, entries, marks.get(columns_mark(name), ())):
            rows[len(rows)] = each
    return GroupPart({table: rows for table, rows in tables.items() if rows}, part.event_timers, part.processing_timers)


def _name_of(table: str) -> str | None:
    return next((table.removesuffix(end) for end in (_BY_KEY, _BY_TIME, _IN_CHUNKS) if table.endswith(end)), None)


def _batches(table: TableId, entries: Mapping[Any, Any], schemas: Sequence[bytes]) -> Iterator[ColumnBatch]:
    # Slices of time give nothing: they are made again of the rows.
    if table.name.endswith(_IN_CHUNKS):
        yield from map(pickle.loads, entries.values())
    elif table.name.endswith(_BY_KEY):
        values = [each[0] for each in entries.values()] if table.has_ttl else list(entries.values())
        if not schemas:
            raise StateError(f"the columns of '{table.name}' are not in this checkpoint; take a savepoint of the job")
        schema = pa.ipc.read_schema(pa.py_buffer(schemas[0]))
        rows, _ = PackedRows(schema).unpack(values)
        *columns, times = rows.columns
        data = pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(schema)[:-1]))
        written = times.to_numpy()
        # Rows without a time have 0.
        yield ColumnBatch(data, written if written.any() else None)
