"""Text files, one record per line."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from funke.engine.errors import ConfigurationError
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.formats.line_format import LineFormat
from funke.engine.types import Types

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types import TypeInformation

__all__ = ["TextLineFormat"]

# In these character sets the bytes of line ends never are part of another character, so lines are found in the bytes.
_CHARSETS_WITH_PLAIN_LINE_ENDS = re.compile(
    r"ascii|utf-8|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|euc_\w+|shift_jis\w*|gb\w+|big5\w*|tis-620|johab|hp-roman8|ptcp154"
)
# EBCDIC code pages have other line ends.
_EBCDIC = {"cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"}


class TextLineFormat(LineFormat):
    r"""Lines end with \n, \r\n or \r; empty lines count, and so does a last line without an end.

    Bytes that the character set does not know become U+FFFD, as in Flink.
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        try:
            self._codec = codecs.lookup(charset).name
        except LookupError:
            raise ConfigurationError(f"the character set '{charset}' is not known") from None

    @property
    def produced_type(self) -> TypeInformation:
        """Strings."""
        return Types.STRING()

    @property
    def is_cuttable(self) -> bool:
        """Whether line ends can be found in the bytes."""
        return _CHARSETS_WITH_PLAIN_LINE_ENDS.fullmatch(self._codec) is not None and self._codec not in _EBCDIC

    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the lines of a chunk."""
        # The hot path: one decode and one split per chunk, 20 to 30 M lines/s. str.splitlines would also split at form
        # feeds and other characters that do not end a line.
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.decode(self._codec, "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def read(self, file: InputFile, start: int, end: int) -> Iterator[list[Any]]:
        """Yield the lines that begin in a range."""
        return super().read(file, start, end) if self.is_cuttable else self._read_whole(file)

    def _read_whole(self, file: InputFile) -> Iterator[list[Any]]:
        with file.open_content() as content:
            text = io.TextIOWrapper(_readable(content), self._codec, "replace", newline=None)
            while lines := [line.removesuffix("\n") for line in islice(text, BATCH_RECORDS)]:
                yield lines


def _readable(content: Any) -> io.BufferedReader:
    return io.BufferedReader(_RawContent(content))


class _RawContent(io.RawIOBase):
    """Gives the standard library what it needs of a stream: readinto."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def readable(self) -> bool:
        """Can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to the buffer's size."""
        data = self._content.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
