"""MySQL and MariaDB, through PyMySQL."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from funke.engine.connectors.jdbc.database import Convert, Database, from_instant
from funke.engine.connectors.jdbc.sql_text import insert_statement, quote, to_format_style
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.types.time import Instant

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.table_read import TableRead
    from funke.engine.types.logical import DataType

__all__ = ["MySqlDatabase"]

# Names stand in double quotes, as in other databases, and timestamps are those of UTC.
_SESSION = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), time_zone = '+00:00'"


@dataclass(frozen=True)
class MySqlDatabase(Database):
    """A server of either kind: they differ in nothing that is used here."""

    # Not shown: a password may be among them.
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    def connect(self) -> Any:
        driver = _pymysql()
        bit = driver.constants.FIELD_TYPE.BIT
        # Values as the texts that the server sends, but for bits, which it sends as bytes.
        decoders = {**driver.converters.encoders, bit: lambda data: str(int.from_bytes(data, "big"))}
        return driver.connect(charset="utf8mb4", init_command=_SESSION, conv=decoders, **self.settings)

    def to_native(self, sql: str) -> str:
        """With `%s` for placeholders."""
        return to_format_style(sql)

    def converter(self, kind: type) -> Convert | None:
        """The driver knows Python's types, but for zones."""
        return _CONVERTERS.get(kind)

    @property
    def error(self) -> type[Exception]:
        error_type: type[Exception] = _pymysql().MySQLError
        return error_type

    @property
    def lasting_errors(self) -> tuple[type[Exception], ...]:
        """Broken rules, wrong statements, values that do not fit."""
        driver = _pymysql()
        return (driver.IntegrityError, driver.ProgrammingError, driver.DataError, driver.NotSupportedError)

    def read(self, connection: Any, read: TableRead, rows: int) -> Iterator[Any]:
        """Rows as the server sends them: the client does not hold the whole table."""
        from funke.engine.connectors.jdbc.fetched_columns import fetched_columns

        cursor = connection.cursor(_pymysql().cursors.SSCursor)
        return fetched_columns(cursor, read, rows, self, "MySQL")

    def prepare_reading(self, connection: Any) -> None:
        """Nothing is to be done."""

    def value_text(self, name: str, data_type: DataType) -> str | None:
        """Timestamps may have more digits there than are wanted here."""
        from funke.engine.types.logical import CHARACTER, INTEGRAL

        return quote(name) if isinstance(data_type, (*CHARACTER, *INTEGRAL)) else None

    def upsert_statement(self, table: str, columns: Sequence[str], keys: Sequence[str]) -> str:
        """The key is whichever the table has.

        >>> MySqlDatabase().upsert_statement("t", ["id", "n"], ["id"])
        'INSERT INTO "t" ("id", "n") VALUES (?, ?) ON DUPLICATE KEY UPDATE "n" = VALUES("n")'
        """
        changed = [name for name in columns if name not in keys] or keys[:1]
        changes = ", ".join(f"{quote(name)} = VALUES({quote(name)})" for name in changed)
        return f"{insert_statement(table, columns)} ON DUPLICATE KEY UPDATE {changes}"

    def note_statement(self, table: str) -> str:
        note = insert_statement(table, ("sink", "writer", "number"))
        return f"{note} ON DUPLICATE KEY UPDATE number = GREATEST(number, VALUES(number))"


def _without_zone(timestamp: datetime.datetime) -> datetime.datetime:
    return timestamp if timestamp.tzinfo is None else timestamp.astimezone(datetime.UTC).replace(tzinfo=None)


def _reject_arrays(values: Any) -> NoReturn:
    raise UnsupportedFeatureError("an array in a table of MySQL or MariaDB")


_CONVERTERS: dict[type, Convert] = {
    Instant: lambda value: from_instant(value).replace(tzinfo=None),
    datetime.datetime: _without_zone,
    bytearray: bytes,
    list: _reject_arrays,
}


def _pymysql() -> Any:
    try:
        import pymysql
        import pymysql.constants
        import pymysql.converters
        import pymysql.cursors
    except ImportError as error:
        raise ConfigurationError(
            "MySQL and MariaDB need the driver PyMySQL where the job runs: pip install 'funke[mysql]'"
        ) from error
    return pymysql
