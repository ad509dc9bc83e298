"""What is read of which database, and what travels to readers and into checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.change_capture.parts import Chunk, FinishedChunk

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import PostgresDatabase
    from funke.engine.types.logical.row_type import RowField

# States of older versions name parts of tables by this module.
__all__ = ["CdcSettings", "Chunk", "FinishedChunk", "SourceTable", "StartMode"]

# initial, latest-offset, committed-offset or snapshot.
StartMode = str


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
class CdcSettings:
    """The source as its program describes it."""

    database: PostgresDatabase
    # Patterns that whole names match.
    schema_pattern: str
    table_pattern: str
    fields: tuple[RowField, ...]
    slot: str
    publication: str = "dbz_publication"
    creates_publication: bool = True
    start_mode: StartMode = "initial"
    # Whether updates come without the rows before them, and deletions perhaps with their keys only.
    is_upsert: bool = False
    chunk_rows: int = 8096
    chunk_column: str | None = None
    heartbeat_ms: int = 30_000
    ignores_truncate: bool = False
    # Several subtasks read tables. Changes follow behind a checkpoint then, so that none overtakes its row.
    is_parallel: bool = False
    # What is told beside the columns, behind them.
    metadata: tuple[tuple[str, str], ...] = field(default=())
    # After how many more checkpoints the server hears of a position.
    confirm_delay: int = 0

    def connect(self) -> Any:
        """A connection that commits every statement, and writes texts as tables are read."""
        connection = self.database.connect()
        connection.autocommit = True
        self.database.prepare_reading(connection)
        return connection
