"""A file to read, wherever it lives."""

from __future__ import annotations

import datetime
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import fs

from funke.engine.connectors.remote.file_systems import is_uri, open_file_system
from funke.engine.formats.compression import compression_of, decompressed

__all__ = ["InputFile", "reading_errors"]


@dataclass(frozen=True)
class InputFile:
    """A file by its path within a file system: the local one, or the one that `root` (a URI) leads to."""

    path: str
    size: int
    root: str | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path if self.root is None or is_uri(self.path) else f"{self.root.partition('://')[0]}://{self.path}"

    @property
    def is_compressed(self) -> bool:
        """Whether its name ends like that of a compressed file."""
        return compression_of(self.path) is not None

    def modified(self) -> datetime.datetime:
        """Return when it was last changed."""
        timestamp: datetime.datetime = self._file_system().get_file_info(self.path).mtime
        return timestamp

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open its bytes for reading at any position."""
        with self._file_system().open_input_file(self.path) as raw:
            yield raw

    @contextmanager
    def open_content(self) -> Iterator[BinaryIO]:
        """Open what is inside it, decompressed, for reading from the start."""
        with self.open() as raw:
            yield decompressed(raw, compression_of(self.path))

    def _file_system(self) -> Any:
        return fs.LocalFileSystem() if self.root is None else open_file_system(self.root)[0]


def reading_errors() -> tuple[type[BaseException], ...]:
    """Return what reading a missing, unreadable or corrupt file raises, whatever the file system and compression."""
    return (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, pa.ArrowException)
