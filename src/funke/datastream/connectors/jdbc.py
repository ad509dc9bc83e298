"""JDBC sinks: PyFlink's names over Python's own database drivers (PostgreSQL and SQLite)."""

from __future__ import annotations

from funke.common.typeinfo import RowTypeInfo
from funke.datastream.functions import SinkFunction
from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.exactly_once import DEFAULT_COMMIT_TABLE, ExactlyOnceJdbcSink
from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.connectors.jdbc.sink import BatchSettings
from funke.engine.connectors.jdbc.sink import JdbcSink as EngineJdbcSink
from funke.engine.connectors.jdbc.statements import Statements

__all__ = ["JdbcSink", "JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcExactlyOnceOptions"]


class JdbcSink(SinkFunction):
    """Writes rows into a database, for `add_sink`.

    >>> import sqlite3, tempfile
    >>> from funke.common import Row, Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/shop.db"
    >>> database = sqlite3.connect(path)
    >>> _ = database.execute("CREATE TABLE orders (id INTEGER, item TEXT)")
    >>> row_type = Types.ROW([Types.INT(), Types.STRING()])
    >>> options = JdbcConnectionOptions(f"jdbc:sqlite:{path}")
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection([Row(1, "tea")], row_type)
    >>> _ = orders.add_sink(JdbcSink.sink("INSERT INTO orders VALUES (?, ?)", row_type, options))
    >>> _ = env.execute()
    >>> database.execute("SELECT * FROM orders").fetchall()
    [(1, 'tea')]
    """

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that runs a statement for each row, with a `?` for each field, at least once.

        >>> options = JdbcConnectionOptions("jdbc:sqlite:/data/shop.db")
        >>> from funke.common.typeinfo import Types
        >>> kind = Types.ROW([Types.INT(), Types.STRING()])
        >>> sink = JdbcSink.sink("insert into orders values (?, ?)", kind, options)
        """
        statements = Statements.from_sql(sql, type_info)
        batches = _batches(jdbc_execution_options)
        return JdbcSink(EngineJdbcSink(jdbc_connection_options._database(), statements, batches))

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that runs a statement for each row exactly once, when a checkpoint has completed.

        What was written is noted in a table of the same database, which is made if it is not there.
        """
        options = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        return JdbcSink(
            ExactlyOnceJdbcSink(
                jdbc_connection_options._database(),
                Statements.from_sql(sql, type_info),
                _batches(jdbc_execution_options),
                options.get_commit_table(),
            )
        )

    @staticmethod
    def upsert_sink(
        table: str,
        key_fields: list[str],
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that keeps the last row of each key; rows that are marked as deleted are deleted.

        The key fields need a unique index. Rows may be written again after a restart, and the table ends up the same.
        """
        database = jdbc_connection_options._database()
        statements = Statements.upserting(database, table, key_fields, type_info)
        return JdbcSink(EngineJdbcSink(database, statements, _batches(jdbc_execution_options)))


def _batches(options: JdbcExecutionOptions | None) -> BatchSettings:
    settings = options or JdbcExecutionOptions.defaults()
    return BatchSettings(settings.get_batch_size(), settings.get_batch_interval_ms(), settings.get_max_retries())


class JdbcExactlyOnceOptions:
    """Where a sink notes what it has committed."""

    def __init__(self, commit_table: str = DEFAULT_COMMIT_TABLE) -> None:
        self._commit_table = commit_table

    def get_commit_table(self) -> str:
        """Return the table of the notes."""
        return self._commit_table

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """Return the default options."""
        return JdbcExactlyOnceOptions()

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        """Start other options."""
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        """Collects the options."""

        def __init__(self) -> None:
            self._commit_table = DEFAULT_COMMIT_TABLE

        def with_commit_table(self, commit_table: str) -> JdbcExactlyOnceOptions.Builder:
            """Set the table of the notes; a dot separates a schema from its name."""
            self._commit_table = commit_table
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            """Return the options."""
            return JdbcExactlyOnceOptions(self._commit_table)


class JdbcConnectionOptions:
    """How to reach a database.

    >>> from funke.datastream.connectors.jdbc import JdbcConnectionOptions
    >>> builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    >>> options = builder.with_url("jdbc:postgresql://localhost/shop").with_user_name("ada").with_password("?").build()
    >>> options.get_db_url(), options.get_user_name()
    ('jdbc:postgresql://localhost/shop', 'ada')
    """

    def __init__(
        self, db_url: str, driver_name: str | None = None, user_name: str | None = None, password: str | None = None
    ) -> None:
        self._db_url = db_url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password

    def get_db_url(self) -> str:
        """Return the URL of the database."""
        return self._db_url

    def get_driver_name(self) -> str | None:
        """Return the name of the driver class, or None."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """Return the name of the user, or None."""
        return self._user_name

    def get_password(self) -> str | None:
        """Return the password, or None."""
        return self._password

    def _database(self) -> Database:
        return database_of(self._db_url, self._user_name, self._password)

    class JdbcConnectionOptionsBuilder:
        """Collects how to reach a database."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL of the database."""
            self._url = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the name of the driver class."""
            self._driver_name = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the name of the user."""
            self._user_name = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options."""
            if self._url is None:
                raise ValueError("JdbcConnectionOptions needs a URL; call with_url()")
            return JdbcConnectionOptions(self._url, self._driver_name, self._user_name, self._password)


class JdbcExecutionOptions:
    """How many rows are written at once, and how often a write is repeated.

    >>> from funke.datastream.connectors.jdbc import JdbcExecutionOptions
    >>> options = JdbcExecutionOptions.builder().with_batch_size(200).with_batch_interval_ms(1000).build()
    >>> options.get_batch_size(), options.get_max_retries()
    (200, 3)
    """

    def __init__(self, batch_interval_ms: int = 0, batch_size: int = 5000, max_retries: int = 3) -> None:
        self._batch_interval_ms = batch_interval_ms
        self._batch_size = batch_size
        self._max_retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """Return after how many milliseconds rows are written; 0 waits for a full batch."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return how many rows are written at once."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return how often a write is repeated."""
        return self._max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the default options."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Start other options."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Collects the options."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set how many rows are written at once."""
            self._options._batch_size = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Set after how many milliseconds rows are written."""
            self._options._batch_interval_ms = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often a write is repeated."""
            self._options._max_retries = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return self._options
