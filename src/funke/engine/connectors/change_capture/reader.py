"""Reads what the enumerator hands out. Records are whole batches: a part of a table is one record."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from funke.engine.connectors.change_capture.parts import Chunk, FinishedChunk, LogPiece, TablePart
from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.jdbc.table_read import Condition
from funke.engine.connectors.source import Batch, Split, SplitReader
from funke.engine.errors import SourceError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ChangeReader", "conditions_of", "records_of"]

S = TypeVar("S", bound=CaptureSettings)


class Closing(Protocol):
    """Something that is open until the end of the job."""

    def close(self) -> None: ...


class ChangeReader(SplitReader, Generic[S]):
    """Reads parts on one connection and the log on another; both stay open.

    What a part saw is reported to the enumerator after its record, also when a checkpoint came between.
    """

    # The log, once it is read.
    _stream: Closing | None = None

    def __init__(self, settings: S, questions: Closing) -> None:
        self._settings = settings
        self._asked = questions
        self._parts: Any = None

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
        except self._settings.database.error as error:
            raise SourceError(f"changes cannot be read: {type(error).__name__}: {error}") from error

    def _for_parts(self) -> Any:
        if self._parts is None:
            self._parts = self._connect_for_parts()
        return self._parts

    def _connect_for_parts(self) -> Any:
        return self._settings.connect()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._asked.close()
        if self._parts is not None:
            with contextlib.suppress(self._settings.database.error):
                self._parts.close()


def conditions_of(chunk: Chunk, value: str) -> tuple[Condition, ...]:
    """Which rows are those of a part; `value` is a bound in SQL, with a question mark for its text or number."""
    if chunk.table.chunk_column is None:
        return ()
    column = quote(chunk.table.chunk_column)
    low = () if chunk.low is None else (Condition(f"{column} >= {value}", (chunk.low,)),)
    high = () if chunk.high is None else (Condition(f"{column} < {value}", (chunk.high,)),)
    return (*low, *high)


def records_of(batch: ColumnBatch | None) -> Batch:
    """A batch as one record, if there is one."""
    return ([] if batch is None else [batch]), None
