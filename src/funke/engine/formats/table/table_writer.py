"""How columns become files: as lines, or as whole batches for formats that write files in one go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bulk_format import BulkFormat, BulkWriter
from funke.engine.connectors.file_sink.encoders import BatchEncoder, Encoder
from funke.engine.types import RowKind

if TYPE_CHECKING:
    from funke.engine.types import TypeInformation

__all__ = ["BatchFileWriter", "BatchStream", "LineFileWriter", "TableFileWriter"]


class TableFileWriter(ABC):
    """Writes record batches of one schema; is pickled into slots."""

    @property
    def kinds(self) -> frozenset[RowKind]:
        """The kinds of changes that it has a form for."""
        return frozenset({RowKind.INSERT})

    @abstractmethod
    def pieces(self, batch: Any, kinds: Any = None) -> list[Any]:
        """Return what part files take of a batch, in order; `kinds` are those of its rows, None for inserts."""

    @property
    @abstractmethod
    def file_format(self) -> Encoder | BulkFormat:
        """What part files write such pieces with."""


class LineFileWriter(TableFileWriter):
    """Writes every row as a line."""

    @abstractmethod
    def pieces(self, batch: Any, kinds: Any = None) -> list[bytes]:
        """Return the lines of a batch, each with its end."""

    @property
    def file_format(self) -> Encoder:
        return _JoinedLines()


@dataclass(frozen=True)
class _JoinedLines(Encoder):
    """Takes lines that are bytes already."""

    def bind(self, input_type: TypeInformation | None) -> BatchEncoder:
        return b"".join


class BatchStream(ABC):
    """A file that batches are written to."""

    @abstractmethod
    def write(self, batch: Any) -> None:
        """Takes a batch."""

    @abstractmethod
    def close(self) -> None:
        """Writes the end of the file; the stream below stays open."""


class BatchFileWriter(TableFileWriter):
    """Writes batches as they are."""

    def pieces(self, batch: Any, kinds: Any = None) -> list[Any]:
        return [batch]

    @property
    def file_format(self) -> BulkFormat:
        return _BatchFiles(self)

    @abstractmethod
    def open_stream(self, stream: IO[bytes]) -> BatchStream:
        """Begins a file."""


@dataclass(frozen=True)
class _BatchFiles(BulkFormat):
    writer: BatchFileWriter

    def create_writer(self, stream: IO[bytes], input_type: TypeInformation | None) -> BulkWriter:
        return _GatheringWriter(self.writer.open_stream(stream))


# Each write makes a row group or block of its own, and small ones read slowly.
_ROWS_PER_WRITE = 1 << 16


class _GatheringWriter(BulkWriter):
    def __init__(self, target: BatchStream) -> None:
        self._target = target
        self._batches: list[Any] = []
        self._rows = 0

    def write(self, values: list[Any]) -> None:
        self._batches += values
        self._rows += sum(map(len, values))
        if self._rows >= _ROWS_PER_WRITE:
            self._write_all()

    def finish(self) -> None:
        self._write_all()
        self._target.close()

    def _write_all(self) -> None:
        if self._batches:
            import pyarrow as pa

            self._target.write(pa.concat_batches(self._batches))
            self._batches, self._rows = [], 0
