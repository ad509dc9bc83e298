"""Rows of PostgreSQL's tables and everything that changes in them, as a stream of rows with kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.datastream.connectors.base import BatchedSource
from funke.engine.connectors.jdbc.database import PostgresDatabase
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings
from funke.engine.connectors.postgres_cdc.source import PostgresCdcSource
from funke.engine.errors import ConfigurationError
from funke.engine.formats.table.table_format import row_type_info
from funke.engine.types.logical.row_type import RowField, RowType

if TYPE_CHECKING:
    from funke.table.types import DataType

__all__ = ["PostgresSource", "PostgresSourceBuilder", "StartupMode"]


class StartupMode:
    """Where a source starts that has no state.

    >>> from funke.datastream.connectors.postgres_cdc import PostgresSource, StartupMode
    >>> builder = PostgresSource.builder().startup_mode(StartupMode.LATEST_OFFSET)
    >>> StartupMode.LATEST_OFFSET
    'latest-offset'
    """

    INITIAL = "initial"
    LATEST_OFFSET = "latest-offset"
    COMMITTED_OFFSET = "committed-offset"
    SNAPSHOT = "snapshot"


class PostgresSource(BatchedSource):
    """Reads tables and then the log, for `from_source`; its rows say what they are by `get_row_kind()`.

    >>> from funke.datastream.connectors.postgres_cdc import PostgresSource
    >>> from funke.table import DataTypes
    >>> row_type = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())])
    >>> builder = PostgresSource.builder().hostname("db").database("shop").username("me").password("secret")
    >>> source = builder.table_list("orders").slot_name("orders").row_type(row_type).build()
    >>> type(source).__name__
    'PostgresSource'
    """

    @staticmethod
    def builder() -> PostgresSourceBuilder:
        """Return a builder."""
        return PostgresSourceBuilder()


class PostgresSourceBuilder:
    """Gathers what a source needs to know; names are those of Flink's builder in Java.

    >>> from funke.datastream.connectors.postgres_cdc import PostgresSource, PostgresSourceBuilder
    >>> builder: PostgresSourceBuilder = PostgresSource.builder().hostname("db").port(5433).database("shop")
    >>> type(builder.publication_name("orders").split_size(10_000)).__name__  # build() gives the source
    'PostgresSourceBuilder'
    """

    def __init__(self) -> None:
        self._connection: dict[str, Any] = {"host": "localhost", "port": "5432"}
        self._values: dict[str, Any] = {"schema_pattern": "public", "is_parallel": True}

    def hostname(self, hostname: str) -> PostgresSourceBuilder:
        """Set the host of the server."""
        return self._connecting("host", hostname)

    def port(self, port: int) -> PostgresSourceBuilder:
        """Set its port, which is 5432 otherwise."""
        return self._connecting("port", str(port))

    def database(self, database: str) -> PostgresSourceBuilder:
        """Set the database."""
        return self._connecting("dbname", database)

    def username(self, username: str) -> PostgresSourceBuilder:
        """Set who connects."""
        return self._connecting("user", username)

    def password(self, password: str) -> PostgresSourceBuilder:
        """Set the password."""
        return self._connecting("password", password)

    def schema_list(self, *schemas: str) -> PostgresSourceBuilder:
        """Set patterns that whole names of schemas match; without any it is `public`."""
        return self._with("schema_pattern", "|".join(f"(?:{each})" for each in schemas))

    def table_list(self, *tables: str) -> PostgresSourceBuilder:
        """Set patterns that whole names of tables match, with or without their schemas."""
        return self._with("table_pattern", "|".join(f"(?:{each})" for each in tables))

    def row_type(self, row_type: DataType) -> PostgresSourceBuilder:
        """Set the columns of the rows."""
        if not isinstance(row_type, RowType):
            raise ConfigurationError(f"a type of rows is needed, DataTypes.ROW([…]), got {row_type}")
        return self._with("fields", tuple(RowField(each.name, each.data_type) for each in row_type))

    def slot_name(self, name: str) -> PostgresSourceBuilder:
        """Set the replication slot, which is made if it is missing."""
        return self._with("slot", name)

    def publication_name(self, name: str) -> PostgresSourceBuilder:
        """Set the publication, which is made if it is missing; `dbz_publication` otherwise."""
        return self._with("publication", name)

    def startup_mode(self, mode: str) -> PostgresSourceBuilder:
        """Set where to start without state, one of `StartupMode`."""
        modes = (StartupMode.INITIAL, StartupMode.LATEST_OFFSET, StartupMode.COMMITTED_OFFSET, StartupMode.SNAPSHOT)
        if mode not in modes:
            raise ConfigurationError(f"a source may start as {', '.join(modes)}, not {mode!r}")
        return self._with("start_mode", mode)

    def upserts(self) -> PostgresSourceBuilder:
        """Do without rows before updates, so that tables need no REPLICA IDENTITY FULL."""
        return self._with("is_upsert", True)

    def split_size(self, rows: int) -> PostgresSourceBuilder:
        """Set about how many rows are read as one part."""
        return self._with("chunk_rows", rows)

    def without_checkpoints(self) -> PostgresSourceBuilder:
        """For jobs that take none: one subtask reads, since changes otherwise wait for a checkpoint behind the rows."""
        return self._with("is_parallel", False)

    def _with(self, name: str, value: Any) -> PostgresSourceBuilder:
        self._values[name] = value
        return self

    def _connecting(self, name: str, value: str) -> PostgresSourceBuilder:
        self._connection[name] = value
        return self

    def build(self) -> PostgresSource:
        """Return the source."""
        needed = {"fields": "row_type", "slot": "slot_name", "table_pattern": "table_list"}
        missing = [method for name, method in needed.items() if name not in self._values]
        missing += [name for name, key in (("database", "dbname"), ("username", "user")) if key not in self._connection]
        if missing:
            raise ConfigurationError(f"a PostgresSource needs {', '.join(f'{each}()' for each in missing)}")
        settings = PostgresCdcSettings(PostgresDatabase(dict(self._connection)), **self._values)
        return PostgresSource(PostgresCdcSource(settings), row_type_info(settings.fields))
