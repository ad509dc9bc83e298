"""What is read of which database, and what travels to readers and into checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.connectors.change_capture.parts import Chunk, FinishedChunk
from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.types.logical import DataTypes

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import PostgresDatabase
    from funke.engine.types.logical import DataType

# States of older versions name parts of tables by this module.
__all__ = ["Chunk", "FinishedChunk", "PostgresCdcSettings", "SourceTable"]


@dataclass(frozen=True)
class SourceTable:
    """A table of the database that is read."""

    schema: str
    name: str
    # The columns of its primary key.
    key: tuple[str, ...]
    # One of them, by which it is read in parts.
    chunk_column: str | None = None
    # Its type and its order in SQL; None for whole numbers.
    chunk_type: str | None = None

    @property
    def path(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class PostgresCdcSettings(CaptureSettings):
    """Starts as initial, latest-offset, committed-offset or snapshot."""

    metadata_types: ClassVar[Mapping[str, DataType]] = {
        "table_name": DataTypes.STRING(False),
        "schema_name": DataTypes.STRING(False),
        **CaptureSettings.metadata_types,
    }

    database: PostgresDatabase
    slot: str
    publication: str = "dbz_publication"
    creates_publication: bool = True
    # After how many more checkpoints the server hears of a position.
    confirm_delay: int = 0

    def connect(self) -> Any:
        """A connection that commits every statement, and writes texts as tables are read."""
        connection = self.database.connect()
        connection.autocommit = True
        self.database.prepare_reading(connection)
        return connection
