"""Settings of every change-capture source: which tables are read, how, and what its rows hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.types.logical import DataTypes, RowField

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import Database
    from funke.engine.types.logical import DataType

__all__ = ["CaptureSettings"]


@dataclass(frozen=True)
class CaptureSettings(ABC):
    """The source as its program describes it."""

    # What METADATA columns may hold, as Flink's connectors name it.
    metadata_types: ClassVar[Mapping[str, DataType]] = {
        "table_name": DataTypes.STRING(False),
        "database_name": DataTypes.STRING(False),
        "op_ts": DataTypes.TIMESTAMP_LTZ(3, False),
        "row_kind": DataTypes.STRING(False),
    }

    database: Database
    # Patterns that whole names match; MySQL's schemas are its databases.
    schema_pattern: str
    table_pattern: str
    fields: tuple[RowField, ...]
    start_mode: str = field(default="initial", kw_only=True)
    # Whether updates come without the rows before them, and deletions perhaps with their keys only.
    is_upsert: bool = field(default=False, kw_only=True)
    chunk_rows: int = field(default=8096, kw_only=True)
    chunk_column: str | None = field(default=None, kw_only=True)
    heartbeat_ms: int = field(default=30_000, kw_only=True)
    ignores_truncate: bool = field(default=False, kw_only=True)
    # Several subtasks read tables. Changes follow behind a checkpoint then, so that none overtakes its row.
    is_parallel: bool = field(default=False, kw_only=True)
    # Key and name of the METADATA columns, which stand behind the others.
    metadata: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    @property
    def is_bounded(self) -> bool:
        """Whether the tables are read alone."""
        return self.start_mode == "snapshot"

    @property
    def output_fields(self) -> tuple[RowField, ...]:
        """The columns of the rows that are given."""
        return (*self.fields, *(RowField(name, self.metadata_types[key]) for key, name in self.metadata))

    @abstractmethod
    def connect(self) -> Any:
        """A connection that commits every statement."""
