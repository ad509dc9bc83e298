"""The connector jdbc: its options, and how they become sources, lookups and sinks."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.connectors.jdbc.database import Database, PostgresDatabase
from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.connectors.jdbc.postgres_names import with_spelled_names
from funke.engine.connectors.jdbc.scan import PartitionBounds
from funke.engine.connectors.jdbc.sink import BatchSettings
from funke.engine.connectors.jdbc.table_read import TableRead
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.jdbc.jdbc_sink import JdbcTableSink
from funke.engine.sql.connectors.jdbc.jdbc_source import JdbcTableSource
from funke.engine.sql.connectors.lookup.lookup_options import LOOKUP_OPTIONS, LookupSettings
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import SINK_PARALLELISM
from funke.engine.types.logical import INTEGRAL, RowField, to_sql_text

__all__ = ["JdbcFactory"]

URL = TableOption(
    "url",
    description="The database: jdbc:postgresql://host:port/name, mysql or mariadb in its place, or jdbc:sqlite:/path.",
)
TABLE = TableOption("table-name", description="The table; a dot separates its schema.")
_DRIVER = TableOption("driver", description="The class of the Java driver; no effect: the URL names the database.")
USER = TableOption("username", description="Who connects.")
PASSWORD = TableOption("password", description="The password; not shown anywhere.")
_TIMEOUT = TableOption("connection.max-retry-timeout", "Duration", "60 s", "How long connecting may take.")
_COLUMN = TableOption(
    "scan.partition.column", description="A column with whole numbers by which the table is read in parts, in parallel."
)
_NUM = TableOption("scan.partition.num", "Integer", None, "How many parts.")
_LOWER = TableOption("scan.partition.lower-bound", "Long", None, "The least value that is read.")
_UPPER = TableOption("scan.partition.upper-bound", "Long", None, "The greatest value that is read.")
_FETCH = TableOption(
    "scan.fetch-size", "Integer", "0", "Rows in a batch, where the driver fetches rows; 0 for its own."
)
_AUTO_COMMIT = TableOption(
    "scan.auto-commit", "Boolean", "true", "For Java's drivers; has no effect: rows are streamed."
)
_FILTERS = TableOption(
    "filter.handling.policy",
    "Enum",
    "always",
    "Whether the database evaluates conditions of queries.",
    ("always", "never"),
)
_MAX_ROWS = TableOption(
    "sink.buffer-flush.max-rows", "Integer", "100", "So many changes are written together; 0 for no bound."
)
_INTERVAL = TableOption(
    "sink.buffer-flush.interval", "Duration", "1 s", "The longest time that changes wait; 0: until there are enough."
)
_RETRIES = TableOption("sink.max-retries", "Integer", "3", "How often writing is tried again.")
_PARTITION = (_COLUMN, _NUM, _LOWER, _UPPER)


class JdbcFactory(TableFactory):
    identifier = "jdbc"
    purpose = (
        "Tables of PostgreSQL (which needs the driver psycopg: `funke[jdbc]`), MySQL and MariaDB (PyMySQL: "
        "`funke[mysql]`) and SQLite: read once, looked up, and written by primary key if there is one."
    )
    reads = writes = True
    required_options = (URL, TABLE)
    optional_options = (
        _DRIVER,
        USER,
        PASSWORD,
        _TIMEOUT,
        *_PARTITION,
        _FETCH,
        _AUTO_COMMIT,
        _FILTERS,
        *LOOKUP_OPTIONS,
        _MAX_ROWS,
        _INTERVAL,
        _RETRIES,
        SINK_PARALLELISM,
    )

    def create_source(self, context: TableContext) -> JdbcTableSource:
        values = context.values
        if values[_FETCH] < 0:
            raise ValidationException(f"The value of '{_FETCH.key}' must not be negative, but is {values[_FETCH]}.")
        return JdbcTableSource(
            _database(context),
            TableRead(values[TABLE], tuple(RowField(each.name, each.type) for each in context.columns)),
            _bounds(context),
            values[_FETCH],
            values[_FILTERS] == "always",
            LookupSettings.of(values),
        )

    def create_sink(self, context: TableContext) -> JdbcTableSink:
        values = context.values
        if values[_RETRIES] < 0:
            raise ValidationException(
                f"The value of '{_RETRIES.key}' option shouldn't be negative, but is {values[_RETRIES]}."
            )
        batches = BatchSettings(values[_MAX_ROWS], values[_INTERVAL].to_millis(), values[_RETRIES])
        return JdbcTableSink(_database(context), values[TABLE], context.primary_key, batches, values[SINK_PARALLELISM])


def _database(context: TableContext) -> Database:
    values = context.values
    _check_all_or_none(values, (USER, PASSWORD))
    timeout_ms = values[_TIMEOUT].to_millis()
    # The drivers count whole seconds.
    if timeout_ms < 1000 or timeout_ms % 1000:
        raise ValidationException(
            f"The value of '{_TIMEOUT.key}' option must be in second granularity and shouldn't be smaller than 1 "
            f"second, but is {values.strings.get(_TIMEOUT.key)}."
        )
    try:
        database = database_of(values[URL], values[USER], values[PASSWORD])
    except (ConfigurationError, UnsupportedFeatureError) as error:
        raise ValidationException(f"Cannot connect to the database of the table: {error}") from error
    if isinstance(database, (PostgresDatabase, MySqlDatabase)):
        # A timeout in the URL counts before the option.
        database = replace(database, settings={"connect_timeout": timeout_ms // 1000, **database.settings})
    if isinstance(database, PostgresDatabase):
        # PostgreSQL folds unquoted names to lower case. Flink does not quote, so the database is asked for their case.
        return with_spelled_names(database, values[TABLE], [each.name for each in context.columns])
    return database


def _check_all_or_none(values: OptionValues, options: tuple[TableOption, ...]) -> None:
    set_keys = [each.key for each in options if each in values]
    if set_keys and len(set_keys) < len(options):
        names = "\n".join(each.key for each in options)
        raise ValidationException(f"Either all or none of the following options should be provided:\n{names}")


def _bounds(context: TableContext) -> PartitionBounds | None:
    values = context.values
    _check_all_or_none(values, _PARTITION)
    if _COLUMN not in values:
        return None
    column, number, lower, upper = (values[each] for each in _PARTITION)
    if lower > upper:
        raise ValidationException(f"'{_LOWER.key}'='{lower}' must not be larger than '{_UPPER.key}'='{upper}'.")
    if number < 1:
        raise ValidationException(f"'{_NUM.key}' must be at least 1, but is {number}.")
    types = {each.name: each.type for each in context.columns}
    if column not in types:
        raise ValidationException(f"'{_COLUMN.key}'='{column}' is not a column of the table: {', '.join(types)}.")
    # Parts are ranges of equal width, which other types would need arithmetic of their own for.
    if not isinstance(types[column], INTEGRAL):
        raise UnsupportedFeatureError(
            f"'{_COLUMN.key}' of type {to_sql_text(types[column])}", "a column with whole numbers is needed"
        )
    return PartitionBounds(column, number, lower, upper)
