"""The databases: how they are connected to, how their rows become columns, where their SQL differs."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.jdbc.sql_text import (
    delete_statement,
    insert_statement,
    note_statement,
    quote,
    quote_as_unquoted,
    to_format_style,
    upsert_statement,
)
from funke.engine.errors import ConfigurationError
from funke.engine.types.time import Instant

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.table_read import TableRead
    from funke.engine.types.logical import DataType

__all__ = ["Convert", "Database", "PostgresDatabase", "SqliteDatabase", "from_instant"]

Convert = Callable[[Any], Any]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Database(ABC):
    """A database; is pickled into slots, so a connection is made where it is used."""

    @abstractmethod
    def connect(self) -> Any:
        """Opens a connection whose changes are visible after `commit`."""

    @abstractmethod
    def to_native(self, sql: str) -> str:
        """The statement with the placeholders of the driver."""

    @abstractmethod
    def converter(self, kind: type) -> Convert | None:
        """How a value of a Python type is given to the driver; None for as it is."""

    @property
    @abstractmethod
    def error(self) -> type[Exception]:
        """What the driver raises."""

    @property
    @abstractmethod
    def lasting_errors(self) -> tuple[type[Exception], ...]:
        """Errors that come again when a statement is repeated."""

    @abstractmethod
    def read(self, connection: Any, read: TableRead, rows: int) -> Iterator[Any]:
        """Yields rows as record batches, about so many at a time, on a connection that does nothing else meanwhile."""

    @abstractmethod
    def prepare_reading(self, connection: Any) -> None:
        """Called once for a connection that is read from."""

    @abstractmethod
    def value_text(self, name: str, data_type: DataType) -> str | None:
        """A column in SQL whose values compare as those of the declared type do; None if they may not."""

    def quote(self, name: str) -> str:
        """The name of a table or column as SQL writes it; a dot separates a schema from a table."""
        return quote(name)

    def insert_statement(self, table: str, columns: Sequence[str]) -> str:
        """The statement that inserts a row."""
        return insert_statement(table, columns, self.quote)

    def delete_statement(self, table: str, keys: Sequence[str]) -> str:
        """The statement that deletes the row with a key."""
        return delete_statement(table, keys, self.quote)

    def upsert_statement(self, table: str, columns: Sequence[str], keys: Sequence[str]) -> str:
        """The statement that inserts a row, or replaces the one with the same key."""
        return upsert_statement(table, columns, keys, self.quote)

    def note_statement(self, table: str) -> str:
        """The statement that notes (sink, writer, number), and changes no row if that or a higher number is noted."""
        return note_statement(table, self.quote)


@dataclass(frozen=True)
class SqliteDatabase(Database):
    """A file; writers wait for each other."""

    path: str
    busy_timeout_s: float = 60.0

    def connect(self) -> Any:
        import sqlite3

        return sqlite3.connect(self.path, timeout=self.busy_timeout_s, isolation_level="IMMEDIATE")

    def to_native(self, sql: str) -> str:
        """The same: a question mark is the driver's own placeholder."""
        return sql

    def converter(self, kind: type) -> Convert | None:
        """Texts for what SQLite has no type for."""
        return _SQLITE_CONVERTERS.get(kind)

    @property
    def error(self) -> type[Exception]:
        import sqlite3

        return sqlite3.Error

    @property
    def lasting_errors(self) -> tuple[type[Exception], ...]:
        """Broken rules, and statements that are wrong."""
        import sqlite3

        return (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)

    def read(self, connection: Any, read: TableRead, rows: int) -> Iterator[Any]:
        from funke.engine.connectors.jdbc.fetched_columns import fetched_columns

        return fetched_columns(connection.cursor(), read, rows, self, "SQLite")

    def prepare_reading(self, connection: Any) -> None:
        """Nothing is to be done."""

    def value_text(self, name: str, data_type: DataType) -> str | None:
        """Its numbers compare as in Python; times and decimals are strings of unknown format."""
        from funke.engine.types.logical import CHARACTER, INTEGRAL

        return quote(name) if isinstance(data_type, (*CHARACTER, *INTEGRAL)) else None


def from_instant(instant: Instant) -> datetime.datetime:
    """A timestamp in UTC, as drivers take it."""
    return _EPOCH + datetime.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)


_SQLITE_CONVERTERS: dict[type, Convert] = {
    Decimal: str,
    datetime.datetime: lambda value: value.isoformat(" "),
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    Instant: lambda value: from_instant(value).isoformat(" "),
    bytearray: bytes,
}


@dataclass(frozen=True)
class PostgresDatabase(Database):
    """PostgreSQL, through psycopg."""

    # Not shown: a password may be among them.
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    # None if every name means what it is spelled as. If not, names mean what they do without quotes, but for these.
    spelled: frozenset[str] | None = None

    def connect(self) -> Any:
        # Whatever the database stores: Arrow knows no other texts.
        return _psycopg().connect(**self.settings, client_encoding="UTF8")

    def quote(self, name: str) -> str:
        return quote(name) if self.spelled is None else quote_as_unquoted(name, self.spelled)

    def to_native(self, sql: str) -> str:
        """With `%s` for placeholders."""
        return to_format_style(sql)

    def converter(self, kind: type) -> Convert | None:
        """The driver knows Python's types."""
        return from_instant if kind is Instant else None

    @property
    def error(self) -> type[Exception]:
        error_type: type[Exception] = _psycopg().Error
        return error_type

    @property
    def lasting_errors(self) -> tuple[type[Exception], ...]:
        """Broken rules, wrong statements, values that do not fit."""
        driver = _psycopg()
        return (driver.IntegrityError, driver.ProgrammingError, driver.DataError)

    def read(self, connection: Any, read: TableRead, rows: int) -> Iterator[Any]:
        """As many rows at a time as the server has sent."""
        from funke.engine.connectors.jdbc.postgres_columns import copied_columns

        return copied_columns(connection, read, self.quote)

    def prepare_reading(self, connection: Any) -> None:
        from funke.engine.connectors.jdbc.postgres_columns import prepare_reading

        prepare_reading(connection)

    def value_text(self, name: str, data_type: DataType) -> str | None:
        from funke.engine.connectors.jdbc.postgres_columns import value_text

        return value_text(self.quote(name), data_type)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs the driver psycopg where the job runs: pip install 'funke[jdbc]'"
        ) from error
    return psycopg
