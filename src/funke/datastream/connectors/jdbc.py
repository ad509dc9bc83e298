"""JDBC sinks: PyFlink's builders, kept for the connector to come."""

from __future__ import annotations

from typing import NoReturn

from funke.common.typeinfo import RowTypeInfo
from funke.datastream.functions import SinkFunction
from funke.engine.errors import UnsupportedFeatureError

__all__ = ["JdbcSink", "JdbcConnectionOptions", "JdbcExecutionOptions"]


class JdbcSink(SinkFunction):
    """Writes rows into a database."""

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> NoReturn:
        """Refuse: the connector does not work yet."""
        raise UnsupportedFeatureError("JDBC sink", "the JDBC connector is not available yet")


class JdbcConnectionOptions:
    """How to reach a database."""

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
    """How many rows are written at once, and how often a write is repeated."""

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
