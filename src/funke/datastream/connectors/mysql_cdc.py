"""Rows of tables of MySQL and MariaDB and everything that changes in them, as a stream of rows with kinds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from funke.datastream.connectors.base import BatchedSource
from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.connectors.mysql_cdc.gtids import GtidSet
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings
from funke.engine.connectors.mysql_cdc.source import MySqlCdcSource
from funke.engine.errors import ConfigurationError
from funke.engine.formats.table.table_format import row_type_info
from funke.engine.types.logical.row_type import RowField, RowType

if TYPE_CHECKING:
    from funke.table.types import DataType

__all__ = ["MySqlSource", "MySqlSourceBuilder", "StartupOptions"]


class StartupOptions:
    """Where a source starts that has no state.

    >>> from funke.datastream.connectors.mysql_cdc import StartupOptions
    >>> StartupOptions.latest().mode, StartupOptions.timestamp(1_700_000_000_000).mode
    ('latest-offset', 'timestamp')
    """

    def __init__(
        self, mode: str, position: LogPosition | None = None, time_ms: int = 0, gtids: GtidSet | None = None
    ) -> None:
        self.mode, self.position, self.time_ms, self.gtids = mode, position, time_ms, gtids

    @staticmethod
    def initial() -> StartupOptions:
        """Read the tables and then the log."""
        return StartupOptions("initial")

    @staticmethod
    def earliest() -> StartupOptions:
        """Read the log from the first file that the server still has."""
        return StartupOptions("earliest-offset")

    @staticmethod
    def latest() -> StartupOptions:
        """Read the log from now on."""
        return StartupOptions("latest-offset")

    @staticmethod
    def specific_offset(file: str, position: int | None = None) -> StartupOptions:
        """Read the log from a place on where a transaction begins; or, of a set of GTIDs alone, what is not in it."""
        if position is None:
            return StartupOptions("specific-offset", gtids=GtidSet.from_text(file))
        return StartupOptions("specific-offset", LogPosition.of(file, position))

    @staticmethod
    def timestamp(startup_timestamp_millis: int) -> StartupOptions:
        """Read what was changed from a time on."""
        return StartupOptions("timestamp", None, startup_timestamp_millis)

    @staticmethod
    def snapshot() -> StartupOptions:
        """Read the tables alone."""
        return StartupOptions("snapshot")


class MySqlSource(BatchedSource):
    """Reads tables and then the log, for `from_source`; its rows say what they are by `get_row_kind()`.

    >>> from funke.datastream.connectors.mysql_cdc import MySqlSource
    >>> from funke.table import DataTypes
    >>> row_type = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())])
    >>> builder = MySqlSource.builder().hostname("db").username("me").password("secret")
    >>> source = builder.database_list("shop").table_list("shop.orders").row_type(row_type).build()
    >>> type(source).__name__
    'MySqlSource'
    """

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        """Return a builder."""
        return MySqlSourceBuilder()


class MySqlSourceBuilder:
    """Gathers what a source needs to know; names are those of Flink's builder in Java.

    >>> from funke.datastream.connectors.mysql_cdc import MySqlSource, MySqlSourceBuilder, StartupOptions
    >>> builder: MySqlSourceBuilder = MySqlSource.builder().hostname("db").port(3307)
    >>> builder = builder.startup_options(StartupOptions.latest()).server_time_zone("Europe/Amsterdam")
    >>> type(builder).__name__  # with tables and the type of rows, build() gives the source
    'MySqlSourceBuilder'
    """

    def __init__(self) -> None:
        self._connection: dict[str, Any] = {"host": "localhost", "port": 3306}
        self._values: dict[str, Any] = {"server_id": random.randint(5400, 6400), "is_parallel": True}

    def hostname(self, hostname: str) -> MySqlSourceBuilder:
        """Set the host of the server."""
        return self._connecting("host", hostname)

    def port(self, port: int) -> MySqlSourceBuilder:
        """Set its port, which is 3306 otherwise."""
        return self._connecting("port", port)

    def username(self, username: str) -> MySqlSourceBuilder:
        """Set who connects."""
        return self._connecting("user", username)

    def password(self, password: str) -> MySqlSourceBuilder:
        """Set the password."""
        return self._connecting("password", password)

    def database_list(self, *databases: str) -> MySqlSourceBuilder:
        """Set patterns that whole names of databases match."""
        return self._with("schema_pattern", "|".join(f"(?:{each})" for each in databases))

    def table_list(self, *tables: str) -> MySqlSourceBuilder:
        """Set patterns that whole names of tables match, with or without their databases."""
        return self._with("table_pattern", "|".join(f"(?:{each})" for each in tables))

    def row_type(self, row_type: DataType) -> MySqlSourceBuilder:
        """Set the columns of the rows."""
        if not isinstance(row_type, RowType):
            raise ConfigurationError(f"a type of rows is needed, DataTypes.ROW([…]), got {row_type}")
        return self._with("fields", tuple(RowField(each.name, each.data_type) for each in row_type))

    def server_id(self, server_id: int) -> MySqlSourceBuilder:
        """Set the number that the server knows the reader of its log by, which no other reader may have."""
        return self._with("server_id", server_id)

    def server_time_zone(self, zone: str) -> MySqlSourceBuilder:
        """Set the zone of TIMESTAMP columns that are declared as TIMESTAMP; UTC otherwise."""
        return self._with("zone", zone)

    def startup_options(self, options: StartupOptions) -> MySqlSourceBuilder:
        """Set where to start without state."""
        self._values |= {"start_position": options.position, "start_time_ms": options.time_ms}
        self._values["start_gtids"] = options.gtids
        return self._with("start_mode", options.mode)

    def split_size(self, rows: int) -> MySqlSourceBuilder:
        """Set about how many rows are read as one part."""
        return self._with("chunk_rows", rows)

    def without_checkpoints(self) -> MySqlSourceBuilder:
        """For jobs that take none: one subtask reads, since changes otherwise wait for a checkpoint behind the rows."""
        return self._with("is_parallel", False)

    def _with(self, name: str, value: Any) -> MySqlSourceBuilder:
        self._values[name] = value
        return self

    def _connecting(self, name: str, value: Any) -> MySqlSourceBuilder:
        self._connection[name] = value
        return self

    def build(self) -> MySqlSource:
        """Return the source."""
        needed = {"fields": "row_type", "schema_pattern": "database_list", "table_pattern": "table_list"}
        missing = [method for name, method in needed.items() if name not in self._values]
        missing += [] if "user" in self._connection else ["username"]
        if missing:
            raise ConfigurationError(f"a MySqlSource needs {', '.join(f'{each}()' for each in missing)}")
        settings = MySqlCdcSettings(MySqlDatabase(dict(self._connection)), **self._values)
        return MySqlSource(MySqlCdcSource(settings), row_type_info(settings.fields))
