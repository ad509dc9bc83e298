"""Cuts a range of bytes into chunks of whole records, for formats whose records end where lines end.

The place of a cut does not matter: a record belongs to the range in which it begins, so that a range starts with the
first record that begins in it and ends where the first record behind it begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from funke.engine.formats.file_format import BATCH_RECORDS

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile

__all__ = ["LineEnds", "QuotedLineEnds", "RecordChunks", "next_chunk_bytes", "open_chunks"]

FIRST_CHUNK_BYTES = 1 << 17
_SMALLEST_CHUNK_BYTES = 1 << 16
_LARGEST_CHUNK_BYTES = 1 << 23
_SEEK_BYTES = 1 << 12
# Stays in the processor's cache from its reading to its counting.
_COUNTED_BYTES = 1 << 18
_LINE_END = re.compile(rb"\n|\r(?!\n)")


class LineEnds:
    """Records that end with a line: at a line feed, a carriage return, or one after the other."""

    def whole_records(self, data: bytes) -> int:
        """Return how many bytes at the start of `data`, where a record begins, are whole records."""
        # A carriage return at the very end may be the first half of a line end.
        return _last_line_end(data, len(data)) or data.rfind(b"\r", 0, len(data) - 1) + 1

    def is_plain(self, data: bytes) -> bool:
        """Return whether every line feed in `data` ends a record, if the one before it does."""
        return True

    def first_record(self, data: bytes) -> int:
        """Return the length of the first record of `data`, where a record begins."""
        match = _LINE_END.search(data)
        return len(data) if match is None else match.end()

    def next_start(self, file: Any, at: int, size: int) -> int:
        """Return the first position at or after `at` where a line begins, or the size of the file."""
        if at <= 0 or at >= size:
            return max(0, min(at, size))
        begin, length = at - 1, _SEEK_BYTES
        while True:
            file.seek(begin)
            data = bytes(file.read(length))
            is_all = begin + len(data) >= size or not data
            match = _LINE_END.search(data)
            if match is not None and (is_all or match.end() < len(data) or data[match.start()] == 0x0A):
                return min(size, begin + match.end())
            if is_all:
                return size
            # One byte twice: it may be a carriage return whose line feed comes next.
            begin, length = begin + len(data) - 1, length * 2


class DelimiterEnds(LineEnds):
    """Records that end with a text that is not a line break; files are not split at it."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter

    def whole_records(self, data: bytes) -> int:
        """Return how many bytes at the start of `data`, where a record begins, are whole records."""
        last = data.rfind(self._delimiter)
        return 0 if last < 0 else last + len(self._delimiter)

    def is_plain(self, data: bytes) -> bool:
        """Return whether every line feed in `data` ends a record, if the one before it does."""
        return False

    def first_record(self, data: bytes) -> int:
        """Return the length of the first record of `data`, where a record begins."""
        first = data.find(self._delimiter)
        return len(data) if first < 0 else first + len(self._delimiter)


class QuotedLineEnds(LineEnds):
    """Records that end with a line unless the line end stands between quotes.

    Quotes are counted: a line end behind an odd number of them is part of a value. A quote inside a value without
    quotes (5" nails) is counted too; then a range ends later than it could, but never inside a record, as long as no
    other value of the file contains a line end.
    """

    def __init__(self, quote: bytes, escape: bytes | None = None) -> None:
        self._quote = quote
        self._escaped = None if escape is None else re.compile(re.escape(escape) + b".", re.DOTALL)

    def whole_records(self, data: bytes) -> int:
        """Return how many bytes at the start of `data`, where a record begins, are whole records."""
        length = super().whole_records(data)
        quotes = data.count(self._quote, 0, length) if self._escaped is None else self.count_quotes(data[:length])
        while length > 0 and quotes % 2:
            earlier = _last_line_end(data, length - 1) or data.rfind(b"\r", 0, length - 1) + 1
            quotes -= self.count_quotes(data[earlier:length])
            length = earlier
        return length

    def is_plain(self, data: bytes) -> bool:
        """Return whether every line feed in `data` ends a record, if the one before it does."""
        return self._quote not in data

    def first_record(self, data: bytes) -> int:
        """Return the length of the first record of `data`, where a record begins."""
        position = quotes = 0
        for match in _LINE_END.finditer(data):
            quotes += self.count_quotes(data[position : match.end()])
            position = match.end()
            if quotes % 2 == 0:
                return position
        return len(data)

    def count_quotes(self, data: bytes) -> int:
        """Return the number of quotes that are not escaped."""
        if self._escaped is not None:
            data = self._escaped.sub(b"", data)
        return data.count(self._quote)

    def cut_at(self, file: Any, start: int, least: int, size: int) -> int:
        """Return the end of the first record, from the one at `start` on, that ends at or after `wanted`."""
        if self._escaped is not None:
            return self._cut_by_chunks(file, start, least, size)
        # The driver looks at every byte of every file: 1.2 GB/s where there are quotes, against 0.5 by chunks.
        quotes = self._quotes_between(file, start, max(start, least - 1))
        begin, length = max(start, least - 1), _SEEK_BYTES
        while True:
            file.seek(begin)
            data = bytes(file.read(length))
            is_all = begin + len(data) >= size or not data
            end = self._first_end(data, quotes, is_all)
            if end or is_all:
                return begin + end if end else size
            length *= 2

    def _quotes_between(self, file: Any, start: int, end: int) -> int:
        file.seek(start)
        quotes = 0
        while start < end and (data := file.read(min(_COUNTED_BYTES, end - start))):
            if self._quote in data:  # ten times as quick as counting
                quotes += data.count(self._quote)
            start += len(data)
        return quotes

    def _first_end(self, data: bytes, quotes: int, is_all: bool) -> int:
        """Return where the first record in `data` ends that began before it, behind some quotes; 0 if not in it."""
        position = 0
        for match in _LINE_END.finditer(data):
            quotes += data.count(self._quote, position, match.end())
            position = match.end()
            # A carriage return at the very end may be the first half of a line end.
            is_whole = is_all or position < len(data) or data[position - 1] == 0x0A
            if quotes % 2 == 0:
                return position if is_whole else 0
        return 0

    def _cut_by_chunks(self, file: Any, start: int, least: int, size: int) -> int:
        file.seek(start)
        chunks = RecordChunks(file, size - start, self)
        position = start
        while position < least:
            data = chunks.take(min(_LARGEST_CHUNK_BYTES, least - position))
            if not data:
                return size
            position += len(data)
        return position


def _last_line_end(data: bytes, end: int) -> int:
    return data.rfind(b"\n", 0, end) + 1


class RecordChunks:
    """Hands out the records of a stream in chunks of about the size that is asked for."""

    def __init__(self, stream: BinaryIO, length: int | None, ends: LineEnds) -> None:
        self._stream = stream
        self._left = length
        self._ends = ends
        self._rest = b""

    def take(self, size: int) -> bytes:
        """Return the next chunk, empty at the end; only the last record of the file may lack its line end."""
        while block := self._read(size):
            if (length := _last_line_end(block, len(block))) and self._are_plain(block):
                # One copy, where the general way below needs two and counts: a fifth of the time of reading CSV.
                data = b"".join((self._rest, memoryview(block)[:length]))
                self._rest = block[length:]
                return data
            data = self._rest + block if self._rest else block
            length = self._ends.whole_records(data)
            if length:
                self._rest = data[length:]
                return data[:length] if self._rest else data
            self._rest = data
            size = max(size, len(data))  # a record longer than a chunk: twice as much each time, not as often
        data, self._rest = self._rest, b""
        return data

    def _are_plain(self, block: bytes) -> bool:
        return self._ends.is_plain(block) and self._ends.is_plain(self._rest)

    def _read(self, size: int) -> bytes:
        if self._left is None:
            return bytes(self._stream.read(size))
        block = bytes(self._stream.read(min(size, self._left)))
        self._left -= len(block)
        return block


@contextmanager
def open_chunks(file: InputFile, start: int, end: int, ends: LineEnds) -> Iterator[RecordChunks]:
    """Open the records that begin in a range of a file; a compressed file is read whole."""
    if file.is_compressed:
        with file.open_content() as content:
            yield RecordChunks(content, None, ends)
        return
    with file.open() as stream:
        first, behind = (ends.next_start(stream, at, file.size) for at in (start, end))
        stream.seek(first)
        yield RecordChunks(stream, behind - first, ends)


def next_chunk_bytes(chunk_bytes: int, records: int) -> int:
    """Return the chunk size that holds a batch of records, when they go on as in the last chunk."""
    return max(_SMALLEST_CHUNK_BYTES, min(_LARGEST_CHUNK_BYTES, chunk_bytes * BATCH_RECORDS // max(1, records)))
