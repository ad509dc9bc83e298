"""Files whose lines are messages: rows of any kind in the order of the lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.formats.messages.message_format import MessageDecoder, MessageEncoder
from funke.engine.formats.record_chunks import LineEnds, open_chunks
from funke.engine.formats.table.table_format import TableFileFormat
from funke.engine.formats.table.table_writer import LineFileWriter
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical.row_type import RowField
    from funke.engine.types.row import RowKind

__all__ = ["MessageFileFormat", "MessageLines"]

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class MessageFileFormat(TableFileFormat):
    """Reads lines as messages."""

    decoder: MessageDecoder

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.decoder.fields

    @property
    def kinds(self) -> frozenset[RowKind]:
        return self.decoder.kinds

    def selecting(self, indexes: Sequence[int]) -> MessageFileFormat:
        return replace(self, decoder=self.decoder.selecting(indexes))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file with their kinds, a chunk at a time."""
        with open_chunks(file, 0, file.size, LineEnds()) as chunks:
            while data := chunks.take(_CHUNK_BYTES):
                decoded = self.decoder.decode([line.strip() for line in data.split(b"\n")])
                if len(decoded.data):
                    yield ColumnBatch(decoded.data, None, decoded.kinds)


@dataclass(frozen=True)
class MessageLines(LineFileWriter):
    """Writes messages as lines."""

    encoder: MessageEncoder

    @property
    def kinds(self) -> frozenset[RowKind]:
        return self.encoder.kinds

    def pieces(self, batch: Any, kinds: Any = None) -> list[bytes]:
        return [message + b"\n" for message in self.encoder.encode(batch, kinds) if message is not None]
