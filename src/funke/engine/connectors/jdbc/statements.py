"""From records to the values of SQL statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.sql_text import count_placeholders
from funke.engine.errors import ConfigurationError, SinkError
from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    Row,
    RowKind,
    RowTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

__all__ = ["Statements", "Work"]

_COLUMN_TYPES = (
    BasicTypeInfo,
    DateTypeInfo,
    TimeTypeInfo,
    TimestampTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    BasicArrayTypeInfo,
    ObjectArrayTypeInfo,
)
_DELETING = (RowKind.DELETE, RowKind.UPDATE_BEFORE)

# A statement, by its place in `Statements.texts`, with the values of one row.
Work = tuple[int, tuple[Any, ...]]


@dataclass(frozen=True)
class Statements:
    """What is done for a record: one statement or, when rows have keys, another one for rows that go."""

    strings: tuple[str, ...]
    columns: int
    key_indexes: tuple[int, ...] = ()

    @staticmethod
    def from_sql(sql: str, row_type: RowTypeInfo) -> Statements:
        """A statement with a placeholder for every field."""
        columns = _check_type(row_type)
        placeholders = count_placeholders(sql)
        if placeholders != columns:
            raise ConfigurationError(
                f"the statement has {placeholders} placeholders and its rows have {columns} fields: {sql}"
            )
        return Statements((sql,), columns)

    @staticmethod
    def upserting(database: Database, table: str, keys: list[str], row_type: RowTypeInfo) -> Statements:
        """Statements that keep one row for each key."""
        columns = _check_type(row_type)
        names = row_type.get_field_names()
        missing = [key for key in keys if key not in names]
        if missing or not keys:
            raise ConfigurationError(f"the key fields {keys} must be some of the fields {names}")
        strings = database.upsert_statement(table, names, keys), database.delete_statement(table, keys)
        return Statements(strings, columns, tuple(names.index(key) for key in keys))

    def bind(self, values: list[Any], database: Database) -> list[Work]:
        """The statements for a batch."""
        return [self._bind(value, database) for value in values]

    def _bind(self, value: Any, database: Database) -> Work:
        fields = value._values if isinstance(value, Row) else value
        if not isinstance(fields, (tuple, list)) or len(fields) != self.columns:
            raise SinkError(f"a row with {self.columns} fields is needed, got {value!r}")
        row = tuple([_convert(item, database) for item in fields])
        if self.key_indexes and isinstance(value, Row) and value.get_row_kind() in _DELETING:
            return 1, tuple(row[index] for index in self.key_indexes)
        return 0, row

    def run(self, cursor: Any, work: list[Work], database: Database) -> None:
        """Runs statements in order, those that are the same together."""
        for index, rows in _runs(work):
            cursor.executemany(database.to_native(self.strings[index]), rows)


def _runs(work: list[Work]) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    for index, items in groupby(work, lambda item: item[0]):
        yield index, [row for _, row in items]


def _convert(value: Any, database: Database) -> Any:
    if value is None:
        return None
    convert = database.converter(type(value))
    return value if convert is None else convert(value)


def _check_type(row_type: RowTypeInfo) -> int:
    if not isinstance(row_type, RowTypeInfo):
        raise ConfigurationError(f"a JDBC sink needs the type of its rows, Types.ROW, got {type(row_type).__name__}")
    for name, kind in zip(row_type.get_field_names(), row_type.get_field_types()):
        if not isinstance(kind, _COLUMN_TYPES):
            raise ConfigurationError(f"the field {name!r} of type {kind} has no type in a database")
    return len(row_type.get_field_types())
