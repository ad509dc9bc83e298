"""Opens compressed files: which compression a name stands for, and the stream of what is inside."""

from __future__ import annotations

import lzma
import os
import zlib
from typing import Any, BinaryIO, cast

import pyarrow as pa

__all__ = ["compression_of", "decompressed"]

_BY_SUFFIX = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
    ".br": "brotli",
    ".xz": "xz",
    ".deflate": "deflate",
}
_INFLATE_BYTES = 1 << 16


def compression_of(path: str) -> str | None:
    """Return the compression that the end of a file's name stands for, or None."""
    return _BY_SUFFIX.get(os.path.splitext(path)[1].lower())


def decompressed(raw: Any, compression: str | None) -> BinaryIO:
    """Return a stream of the content of an opened file."""
    if compression is None:
        return cast(BinaryIO, raw)
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    if compression == "deflate":
        return cast(BinaryIO, _InflatingStream(raw))
    return cast(BinaryIO, pa.CompressedInputStream(raw, compression))


class _InflatingStream:
    """Reads zlib data (Flink's .deflate), for which Arrow has no codec."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._inflate = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        while True:
            data = self._inflate.unconsumed_tail or bytes(self._raw.read(_INFLATE_BYTES))
            if not data:
                return self._at_end()
            if out := self._inflate.decompress(data, size):
                return out

    def _at_end(self) -> bytes:
        if not self._inflate.eof:
            raise OSError("Truncated compressed stream")
        return b""

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
