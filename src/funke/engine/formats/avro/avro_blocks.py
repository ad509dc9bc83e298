"""The blocks of Avro container files: finding them from any position, checking and decompressing them."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from funke.engine.errors import ConfigurationError
from funke.engine.formats.avro.avro_schema import checked

__all__ = ["AvroHeader", "BlockStream", "DamagedBlockError", "next_block", "read_blocks", "read_header"]

SYNC_BYTES = 16
_MAGIC = b"Obj\x01"
_HEADER_SCHEMA = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": len(_MAGIC)}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": SYNC_BYTES}},
    ],
}
_SEEK_BYTES = 1 << 16
_LARGEST_BLOCK_BYTES = 1 << 30
# A block as it leaves here: the number of its records, and their bytes.
Block = tuple[int, bytes]


class DamagedBlockError(ValueError):
    """A block that cannot be read, with the reason."""


@dataclass(frozen=True)
class AvroHeader:
    """What stands at the beginning of a file."""

    schema: Any
    codec: str
    sync: bytes


def read_header(stream: BinaryIO) -> AvroHeader:
    """Read the beginning of a file; the stream stands at the first block then."""
    import fastavro

    try:
        header: Any = fastavro.schemaless_reader(stream, _HEADER_SCHEMA, None)
    except Exception as error:  # whatever the decoder makes of bytes that are not a header
        raise ValueError(f"it is not an Avro file: {type(error).__name__}: {error}") from error
    if header["magic"] != _MAGIC:
        raise ValueError("it is not an Avro file: it does not begin with 'Obj' and the version 1")
    meta = header["meta"]
    if "avro.schema" not in meta:
        raise ValueError("it is not an Avro file: it has no schema")
    try:
        schema = checked(json.loads(meta["avro.schema"]))
    except (ValueError, ConfigurationError) as error:
        raise ValueError(f"it is not an Avro file: {error}") from error
    return AvroHeader(schema, meta.get("avro.codec", b"null").decode(), header["sync"])


def next_block(raw: Any, sync: bytes, at: int, first: int, size: int) -> int:
    """Return the first position at or after `at` where a block begins, or the size of the file."""
    if at <= first or at >= size:
        return first if at <= first else size
    # A block begins behind a marker; one that ends at the position counts.
    position, tail = at - SYNC_BYTES, b""
    raw.seek(position)
    while data := bytes(raw.read(_SEEK_BYTES)):
        index = (tail + data).find(sync)
        if index >= 0:
            return position - len(tail) + index + SYNC_BYTES
        position += len(data)
        tail = (tail + data)[1 - SYNC_BYTES :]
    return size


def read_blocks(stream: BinaryIO, header: AvroHeader, length: int | None) -> Iterator[Block]:
    """Yield the blocks of the next `length` bytes, or of all that follow."""
    decompress = _decompressor(header.codec)
    limit = _LARGEST_BLOCK_BYTES if length is None else length
    left = length
    while left is None or left > 0:
        count, count_bytes = _read_long(stream)
        if count is None:
            break
        size, size_bytes = _read_long(stream)
        if size is None or count < 0 or not 0 <= size <= limit:
            raise DamagedBlockError(f"it is damaged: a block says that it has {count} records in {size} bytes")
        data, marker = bytes(stream.read(size)), bytes(stream.read(SYNC_BYTES))
        if len(data) + len(marker) < size + SYNC_BYTES:
            raise DamagedBlockError("it is damaged: it ends in the middle of a block")
        if marker != header.sync:
            raise DamagedBlockError("it is damaged: a block does not end with the marker of the file")
        if left is not None:
            left -= count_bytes + size_bytes + size + SYNC_BYTES
        yield count, decompress(data)


def _read_long(stream: BinaryIO) -> tuple[int | None, int]:
    """Read a number; None at the end of the stream. Also return how many bytes it took."""
    value = shift = 0
    while byte := stream.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if not byte[0] & 0x80:
            return (value >> 1) ^ -(value & 1), shift // 7
        if shift > 63:
            raise DamagedBlockError("it is damaged: a number of a block has more than 64 bits")
    if shift:
        raise DamagedBlockError("it is damaged: it ends in the middle of a number")
    return None, 0


def _long_bytes(value: int) -> bytes:
    encoded, rest = bytearray(), value << 1
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _decompressor(codec: str) -> Callable[[bytes], bytes]:
    if codec not in _DECOMPRESSORS:
        raise DamagedBlockError(f"its blocks are compressed by '{codec}'; expected one of {', '.join(_DECOMPRESSORS)}")
    return _DECOMPRESSORS[codec]


def _unsnap(data: bytes) -> bytes:
    # Avro puts a checksum of the content behind snappy's data, which begins with the length that Arrow wants to know.
    content, checksum = data[:-4], int.from_bytes(data[-4:], "big")
    length = shift = 0
    for byte in content:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if length > _LARGEST_BLOCK_BYTES:
        raise DamagedBlockError(f"it is damaged: a block says that it has {length} bytes")
    plain: bytes = pa.decompress(content, length, "snappy", asbytes=True)
    if zlib.crc32(plain) != checksum:
        raise DamagedBlockError("it is damaged: the checksum of a block is wrong")
    return plain


def _unzstd(data: bytes) -> bytes:
    plain: bytes = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return plain


_DECOMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    # Without zlib's own header and checksum.
    "deflate": lambda data: zlib.decompress(data, -15),
    "snappy": _unsnap,
    "zstandard": _unzstd,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}


class BlockStream:
    """Blocks as a container file again, one that is not compressed: what fastavro's reader takes.

    So fastavro's loop over the records runs in C, whatever the codec, and needs no packages for codecs.
    """

    def __init__(self, schema: Any, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._buffer = io.BytesIO(_header_bytes(schema))

    def read(self, size: int) -> bytes:
        """Return so many bytes, none at the end."""
        data = self._buffer.read(size)
        if data or size == 0:
            return data
        block = next(self._blocks, None)
        if block is None:
            return b""
        count, content = block
        self._buffer = io.BytesIO(b"".join((_long_bytes(count), _long_bytes(len(content)), content, _SYNC)))
        return self._buffer.read(size)


_SYNC = b"funke block mark"


def _header_bytes(schema: Any) -> bytes:
    import fastavro

    header = io.BytesIO()
    meta = {"avro.schema": json.dumps(schema).encode(), "avro.codec": b"null"}
    fastavro.schemaless_writer(header, _HEADER_SCHEMA, {"magic": _MAGIC, "meta": meta, "sync": _SYNC})
    return header.getvalue()
