"""The databases: how their JDBC URLs are read, how they are connected to, how their rows become columns."""

from __future__ import annotations

import datetime
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from funke.engine.config.secret_keys import hide_passwords
from funke.engine.connectors.jdbc.sql_text import quote, to_format_style
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.types.time import Instant

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.table_read import TableRead
    from funke.engine.types.logical.data_type import DataType

__all__ = ["Database", "database_of"]

Convert = Callable[[Any], Any]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


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
        from funke.engine.connectors.jdbc.sqlite_columns import fetched_columns

        return fetched_columns(connection, read, rows)

    def prepare_reading(self, connection: Any) -> None:
        """Nothing is to be done."""

    def value_text(self, name: str, data_type: DataType) -> str | None:
        """Its numbers compare as ours; times and decimals are texts that nobody knows the form of."""
        from funke.engine.types.logical.families import CHARACTER, INTEGRAL

        return quote(name) if isinstance(data_type, (*CHARACTER, *INTEGRAL)) else None


def _from_instant(instant: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)


_SQLITE_CONVERTERS: dict[type, Convert] = {
    Decimal: str,
    datetime.datetime: lambda value: value.isoformat(" "),
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    Instant: lambda value: _from_instant(value).isoformat(" "),
    bytearray: bytes,
}


@dataclass(frozen=True)
class PostgresDatabase(Database):
    """PostgreSQL, through psycopg."""

    # Not shown: a password may be among them.
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    def connect(self) -> Any:
        return _psycopg().connect(**self.settings)

    def to_native(self, sql: str) -> str:
        """With `%s` for placeholders."""
        return to_format_style(sql)

    def converter(self, kind: type) -> Convert | None:
        """The driver knows Python's types."""
        return _from_instant if kind is Instant else None

    @property
    def error(self) -> type[Exception]:
        found: type[Exception] = _psycopg().Error
        return found

    @property
    def lasting_errors(self) -> tuple[type[Exception], ...]:
        """Broken rules, wrong statements, values that do not fit."""
        driver = _psycopg()
        return (driver.IntegrityError, driver.ProgrammingError, driver.DataError)

    def read(self, connection: Any, read: TableRead, rows: int) -> Iterator[Any]:
        """As many rows at a time as the server has sent."""
        from funke.engine.connectors.jdbc.postgres_columns import copied_columns

        return copied_columns(connection, read)

    def prepare_reading(self, connection: Any) -> None:
        from funke.engine.connectors.jdbc.postgres_columns import prepare_reading

        prepare_reading(connection)

    def value_text(self, name: str, data_type: DataType) -> str | None:
        from funke.engine.connectors.jdbc.postgres_columns import value_text

        return value_text(name, data_type)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs the driver psycopg where the job runs: pip install 'funke[jdbc]'"
        ) from error
    return psycopg


def database_of(url: str, user: str | None = None, password: str | None = None) -> Database:
    """Reads a JDBC URL.

    >>> database_of("jdbc:postgresql://db:5433/shop?sslmode=require", "me").settings["port"]
    '5433'
    """
    matched = re.match(r"jdbc:(\w+):(.*)", url, re.DOTALL)
    if matched is None:
        raise ConfigurationError(
            f"{hide_passwords(url)!r} is no JDBC URL; one looks like jdbc:postgresql://host:5432/database"
        )
    system, rest = matched[1].lower(), matched[2]
    if system == "postgresql":
        return PostgresDatabase(_postgres_settings(rest, user, password))
    if system == "sqlite":
        return SqliteDatabase(_sqlite_path(rest))
    raise UnsupportedFeatureError(f"JDBC for {system}", "there are drivers for postgresql and sqlite here")


def _sqlite_path(rest: str) -> str:
    path = rest.removeprefix("file:")
    if not path or path.startswith(":memory:"):
        raise ConfigurationError("a SQLite database in memory is seen by one process only; give it a file")
    return os.path.abspath(path)


# Parameters of PostgreSQL's JDBC driver and what libpq calls them; None for those that change nothing here.
_POSTGRES_PARAMETERS: dict[str, str | None] = {
    "user": "user",
    "password": "password",
    "sslmode": "sslmode",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslrootcert": "sslrootcert",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "options": "options",
    "targetServerType": None,
    "tcpKeepAlive": "keepalives",
    "reWriteBatchedInserts": None,
    "prepareThreshold": None,
    "stringtype": None,
}


def _postgres_settings(rest: str, user: str | None, password: str | None) -> dict[str, Any]:
    matched = re.fullmatch(r"(?://(?P<hosts>[^/?]*)/?)?/?(?P<database>[^?]*)(?:\?(?P<parameters>.*))?", rest)
    assert matched is not None
    hosts = [part.rpartition(":") if re.search(r":\d+$", part) else (part, "", "") for part in _hosts(matched["hosts"])]
    settings: dict[str, Any] = {
        "host": ",".join(host.strip("[]") or "localhost" for host, _, _ in hosts),
        "port": ",".join(port or "5432" for _, _, port in hosts),
        "dbname": unquote(matched["database"]) or user or "",
        **_postgres_parameters(matched["parameters"] or ""),
    }
    settings |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    return settings


def _hosts(text: str | None) -> list[str]:
    return text.split(",") if text else ["localhost"]


def _postgres_parameters(text: str) -> dict[str, str]:
    settings = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name == "ssl":
            settings["sslmode"] = "require" if value.lower() != "false" else "prefer"
        elif name == "currentSchema":
            settings["options"] = f"-csearch_path={value}"
        elif name not in _POSTGRES_PARAMETERS:
            known = ", ".join(sorted([*_POSTGRES_PARAMETERS, "currentSchema", "ssl"]))
            raise ConfigurationError(f"the parameter {name!r} of a PostgreSQL URL is not known; known are {known}")
        elif (target := _POSTGRES_PARAMETERS[name]) is not None:
            settings[target] = {"true": "1", "false": "0"}.get(value, value) if target == "keepalives" else value
    return settings
