"""Reads what the enumerator hands out. Records are whole batches: a part of a table is one record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.change_capture.enumerator import CaptureSettings
from funke.engine.connectors.change_capture.parts import FinishedChunk, LogPiece, TablePart
from funke.engine.connectors.source import Batch, Split, SplitReader
from funke.engine.errors import SourceError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ChangeReader", "records_of"]


class ChangeReader(SplitReader):
    """What a part saw is told to the enumerator behind its record, also when a checkpoint came between."""

    def __init__(self, settings: CaptureSettings) -> None:
        self._capture = settings

    @abstractmethod
    def _part(self, part: TablePart) -> Generator[Batch, None, str | None]:
        """Reads a part as at most one record; returns what was seen, or None if it could not be read."""

    @abstractmethod
    def _piece(self, piece: LogPiece) -> Generator[Batch, None, Any]:
        """Reads a piece; its records are the same whenever it is read. What it returns the enumerator may look at."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        payload = split.payload
        if isinstance(payload, FinishedChunk):
            return payload.seen
        try:
            if isinstance(payload, TablePart):
                return (yield from self._part(payload))
            return (yield from self._piece(payload))
        except self._capture.database.error as error:
            raise SourceError(f"changes cannot be read: {type(error).__name__}: {error}") from error


def records_of(batch: ColumnBatch | None) -> Batch:
    """A batch as one record, if there is one."""
    return ([] if batch is None else [batch]), None
