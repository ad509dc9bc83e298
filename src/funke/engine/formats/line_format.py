"""Formats whose records end where lines end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funke.engine.formats.file_format import FileFormat, in_batches
from funke.engine.formats.record_chunks import FIRST_CHUNK_BYTES, LineEnds, next_chunk_bytes, open_chunks

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile

__all__ = ["LineFormat"]


class LineFormat(FileFormat):
    """Reads chunks of whole lines."""

    @property
    def ends(self) -> LineEnds:
        """Where records end."""
        return LineEnds()

    @property
    def is_cuttable(self) -> bool:
        """Lines can be separated from any position on."""
        return True

    @abstractmethod
    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the records of a chunk; `is_first` says that it is the beginning of the file."""

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the records of the lines that begin in a range."""
        with open_chunks(file, start, end, self.ends) as chunks:
            is_first, size = start == 0, FIRST_CHUNK_BYTES
            while data := chunks.take(size):
                records = self.decode(data, is_first)
                is_first, size = False, next_chunk_bytes(len(data), len(records))
                yield from in_batches(records)
