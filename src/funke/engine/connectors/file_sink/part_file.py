"""One part file while it is being written, in a row format or a bulk format."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, Any

from funke.engine.connectors.file_sink.bulk_format import BulkWriter
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.file_sink.storage import Storage

__all__ = ["BulkPart", "PartFile", "ResumablePart", "RowPart"]


@dataclass(frozen=True)
class ResumablePart:
    """What a checkpoint remembers of a file that is still being written."""

    in_progress_path: str
    final_path: str
    size: int
    created_ms: int


class PartFile(ABC):
    """A file under its hidden name, with the times that rolling policies look at."""

    def __init__(self, storage: Storage, stream: IO[bytes], paths: tuple[str, str], created_ms: int) -> None:
        self._storage = storage
        self._stream = stream
        self._in_progress_path, self._final_path = paths
        self.created_ms = created_ms
        self.updated_ms = created_ms

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bytes the file has so far."""

    @abstractmethod
    def close_for_commit(self) -> PendingFile:
        """Completes the file."""

    def flush(self) -> None:
        """Hands what is buffered to the operating system."""
        self._stream.flush()

    def abandon(self) -> None:
        """Closes the file and leaves it under its hidden name."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def _pending(self, size: int) -> PendingFile:
        return PendingFile(self._in_progress_path, self._final_path, size)


class RowPart(PartFile):
    """A file to which encoded records are appended."""

    def __init__(
        self, storage: Storage, stream: IO[bytes], paths: tuple[str, str], created_ms: int, size: int = 0
    ) -> None:
        super().__init__(storage, stream, paths, created_ms)
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def append(self, data: bytes, now_ms: int) -> None:
        """Writes encoded records."""
        self._stream.write(data)
        self._size += len(data)
        self.updated_ms = now_ms

    def persist(self) -> ResumablePart:
        """Makes what was written so far durable, to be written on after a restart."""
        self._storage.sync(self._stream)
        return ResumablePart(self._in_progress_path, self._final_path, self._size, self.created_ms)

    def close_for_commit(self) -> PendingFile:
        self._storage.sync(self._stream)
        self._stream.close()
        return self._pending(self._size)


class BulkPart(PartFile):
    """A file that only makes sense when it is complete."""

    def __init__(
        self, storage: Storage, stream: IO[bytes], paths: tuple[str, str], created_ms: int, writer: BulkWriter
    ) -> None:
        super().__init__(storage, stream, paths, created_ms)
        self._writer = writer

    @property
    def size(self) -> int:
        """How many bytes were written; the format may buffer more."""
        return self._stream.tell()

    def add(self, values: list[Any], now_ms: int) -> None:
        """Adds records."""
        self._writer.write(values)
        self.updated_ms = now_ms

    def close_for_commit(self) -> PendingFile:
        """Lets the format write its end, and completes the file."""
        self._writer.finish()
        self._storage.sync(self._stream)
        size = self._stream.tell()
        self._stream.close()
        return self._pending(size)

    def abandon(self) -> None:
        """Closes the file; the format is finished first, since it would otherwise do so after the file is closed."""
        with contextlib.suppress(Exception):
            self._writer.finish()
        super().abandon()
