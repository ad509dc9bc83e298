"""What is read of which server, and its tables as they travel to readers and into checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.change_capture.settings import CaptureSettings

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
    from funke.engine.connectors.mysql_cdc.gtids import GtidSet
    from funke.engine.connectors.mysql_cdc.log_position import LogPosition

__all__ = ["MySqlCdcSettings", "MySqlColumn", "MySqlTable"]

# The server ends connections that ask nothing for eight hours; parts of tables may take longer.
_PATIENCE = "SET SESSION wait_timeout = 2147483"


@dataclass(frozen=True)
class MySqlColumn:
    """A column as information_schema describes it."""

    name: str
    # The name of its type, without lengths.
    kind: str
    is_unsigned: bool = False
    charset: str | None = None
    # Digits behind the second, or behind the point.
    digits: int = 0
    # Of enumerations and sets.
    members: tuple[str, ...] = ()

    def is_like(self, other: MySqlColumn) -> bool:
        """Whether its values mean the same, but for members that may have been added."""
        return (self.name, self.kind, self.is_unsigned, self.charset) == (
            other.name,
            other.kind,
            other.is_unsigned,
            other.charset,
        )


@dataclass(frozen=True)
class MySqlTable:
    """A table of the server that is read."""

    database: str
    name: str
    # Those of its primary key.
    key: tuple[str, ...]
    columns: tuple[MySqlColumn, ...]
    # One of the key's, by which it is read in parts.
    chunk_column: str | None = None
    # A value of it in SQL, for a text; None for whole numbers.
    chunk_value: str | None = None

    @property
    def path(self) -> str:
        return f"{self.database}.{self.name}"

    def column(self, name: str) -> MySqlColumn | None:
        return next((each for each in self.columns if each.name == name), None)


@dataclass(frozen=True)
class MySqlCdcSettings(CaptureSettings):
    """Starts as initial, earliest-offset, latest-offset, specific-offset, timestamp or snapshot."""

    database: MySqlDatabase
    # Under which number the server knows this reader of its log; sources are the same whatever it is.
    server_id: int = field(compare=False)
    # The zone of TIMESTAMP columns that are declared without one, and of DATETIME columns that are declared with one.
    zone: str = "UTC"
    start_position: LogPosition | None = None
    start_time_ms: int = 0
    # For specific-offset without a position: transactions that are not read.
    start_gtids: GtidSet | None = None

    def connect(self) -> Any:
        connection = self.database.connect()
        connection.autocommit(True)
        with connection.cursor() as cursor:
            cursor.execute(_PATIENCE)
        return connection
