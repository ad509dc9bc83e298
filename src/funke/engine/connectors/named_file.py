"""Files whose errors name them: the system says that a disk is full, but not which file has found no room."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

__all__ = ["open_to_write", "sync"]


class _NamedFile(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise _named(error, self.name) from None


def open_to_write(
    path: str,
    mode: str = "w",
    buffer_bytes: int = io.DEFAULT_BUFFER_SIZE,
    opener: Callable[[str, int], int] | None = None,
) -> io.BufferedWriter:
    """Opens a file for bytes; mode and opener are those of `open`, the mode w, x or a."""
    return io.BufferedWriter(_NamedFile(path, mode, opener=opener), buffer_bytes)


def sync(file: Any) -> None:
    """Flushes down to the disk."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        raise _named(error, file.name) from None


def _named(error: OSError, path: Any) -> OSError:
    return OSError(error.errno, error.strerror, path)
