"""What a block between two subtasks holds, in order: runs of records or columns, with marks at their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ColumnsPart", "Part", "RecordsPart", "StatusPart", "WatermarkPart"]


@dataclass(frozen=True, slots=True)
class RecordsPart:
    """Records one after the other; with timestamps, each has one."""

    values: list[Any]
    timestamps: list[int] | None = None


@dataclass(frozen=True, slots=True)
class ColumnsPart:
    """Records as columns."""

    batch: ColumnBatch


@dataclass(frozen=True, slots=True)
class WatermarkPart:
    """No record with an earlier timestamp follows on this channel."""

    timestamp: int


@dataclass(frozen=True, slots=True)
class StatusPart:
    """The channel is idle, or active again."""

    is_idle: bool


Part = RecordsPart | ColumnsPart | WatermarkPart | StatusPart
