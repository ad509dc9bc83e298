"""What a block between two subtasks holds, in order: runs of records or columns, with marks at their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ColumnsPart", "Part", "RecordsPart", "StatusPart", "WatermarkPart", "with_joined_columns"]


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


def with_joined_columns(parts: Sequence[Part]) -> list[Part]:
    """The same records and marks; columns without a mark between them are one part."""
    joined: list[Part] = []
    waiting: list[ColumnBatch] = []
    for part in parts:
        if waiting and not (isinstance(part, ColumnsPart) and waiting[0].is_alike(part.batch)):
            joined.append(ColumnsPart(ColumnBatch.concat(waiting)))
            waiting = []
        if isinstance(part, ColumnsPart):
            waiting.append(part.batch)
        else:
            joined.append(part)
    return [*joined, ColumnsPart(ColumnBatch.concat(waiting))] if waiting else joined
