"""The file that holds the state of a subtask: frames with checksums, written in one pass, and an index at the end.

    header   magic, version, 0
    frames   kind, flags, operator, key group, length, checksum | pickled content, perhaps compressed
    index    a frame: the ids of the operators, and where each frame begins
    footer   where the index begins, checksum, magic

Keyed state may come in several chunks per key group, or in files of the backend's own (`LocalFile`), of which an
incremental checkpoint copies only those that are new. Neither writer nor reader holds more than one chunk. Every byte
is covered by a checksum or compared with what it must be: a file that was cut or altered is told from a good one.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Container, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from funke.engine.errors import StateError
from funke.engine.state.value_codec import pack, unpack

__all__ = [
    "GroupPart",
    "HeldState",
    "LocalFile",
    "SnapshotReader",
    "SnapshotWriter",
    "TableId",
    "empty_part",
]

_HEADER = struct.Struct("<8sHH")
_FRAME = struct.Struct("<BBIIQI")
_FOOTER = struct.Struct("<QI8s")
_MAGIC, _END_MAGIC = b"FUNKESNP", b"FUNKEEND"
_VERSION = 1
_OWN, _KEYED, _INDEX = 1, 2, 3
_COMPRESSED = 1
# Smaller contents hardly shrink.
_LEAST_TO_COMPRESS = 128


class TableId(NamedTuple):
    """Names the entries of one state in one namespace; with `has_ttl`, entries carry times (see `ttl`)."""

    name: str
    namespace: Hashable
    has_ttl: bool
    # value, list, map, reducing or aggregating
    kind: str


class GroupPart(NamedTuple):
    """State and timers of one key group, or a chunk of them; keys stand in their stored form (see `storage_keys`)."""

    tables: dict[TableId, dict[Any, Any]]
    # (time, entry); an entry is a stored key, or (stored key, namespace)
    event_timers: list[tuple[int, Any]]
    processing_timers: list[tuple[int, Any]]


def empty_part() -> GroupPart:
    """A part without anything."""
    return GroupPart({}, [], [])


class _IndexEntry(NamedTuple):
    """A frame as the index knows it."""

    kind: int
    operator: int
    key_group: int
    offset: int


class SnapshotWriter:
    """Writes one snapshot; `out` needs `write` only."""

    def __init__(self, out: BinaryIO, compress: bool = False) -> None:
        self._out = out
        self._compress = compress
        self._operators: dict[str, int] = {}
        self._entries: list[_IndexEntry] = []
        self._size = 0
        self._write(_HEADER.pack(_MAGIC, _VERSION, 0))

    def write_own(self, operator_id: str, content: Any) -> int:
        """Adds the state of an operator that is not keyed; returns how many bytes it takes."""
        return self._write_frame(_OWN, operator_id, 0, pack(content))

    def write_keyed(self, operator_id: str, key_group: int, part: GroupPart) -> int:
        """Adds keyed state and timers; a key group may come in several chunks. Returns how many bytes they take."""
        # Tuples in place of classes of our own, so that a snapshot can be read when these have moved.
        content = (
            [(tuple(table_id), table) for table_id, table in part.tables.items()],
            part.event_timers,
            part.processing_timers,
        )
        return self._write_frame(_KEYED, operator_id, key_group, pack(content))

    def finish(self) -> int:
        """Writes the index; returns the size of the file."""
        index_offset = self._size
        index = pack((list(self._operators), [tuple(entry) for entry in self._entries]))
        self._write_content(_INDEX, 0, 0, index)
        offset = struct.pack("<Q", index_offset)
        self._write(_FOOTER.pack(index_offset, zlib.crc32(offset), _END_MAGIC))
        return self._size

    def _write_frame(self, kind: int, operator_id: str, key_group: int, content: bytes) -> int:
        operator = self._operators.setdefault(operator_id, len(self._operators))
        entry = _IndexEntry(kind, operator, key_group, self._size)
        self._entries.append(entry)
        self._write_content(kind, operator, key_group, content)
        return self._size - entry.offset

    def _write_content(self, kind: int, operator: int, key_group: int, content: bytes) -> None:
        flags = 0
        if self._compress and len(content) >= _LEAST_TO_COMPRESS:
            content, flags = zlib.compress(content, 1), _COMPRESSED
        checksum = _checksum(kind, flags, operator, key_group, content)
        self._write(_FRAME.pack(kind, flags, operator, key_group, len(content), checksum))
        self._write(content)

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        self._size += len(data)


class SnapshotReader:
    """Reads one snapshot, of which only the frames that are asked for; `name` stands in errors."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._check_header()
        self._entries: list[_IndexEntry] = []
        self._operators: list[str] = []
        self._read_index()

    @property
    def operator_ids(self) -> tuple[str, ...]:
        """The operators that have state here."""
        return tuple(self._operators)

    def own(self, operator_id: str) -> Any:
        """The state of an operator that is not keyed; None if it has none."""
        for entry in self._entries_of(operator_id, _OWN):
            return self._content(entry)
        return None

    def key_groups(self, operator_id: str) -> tuple[int, ...]:
        """The key groups for which an operator has state or timers here."""
        return tuple(sorted({entry.key_group for entry in self._entries_of(operator_id, _KEYED)}))

    def keyed(self, operator_id: str, groups: Container[int] | None = None) -> Iterator[tuple[int, GroupPart]]:
        """The chunks of an operator's key groups, all or those in `groups`, as they were written."""
        for entry in self._entries_of(operator_id, _KEYED):
            if groups is None or entry.key_group in groups:
                tables, event, processing = self._content(entry)
                tables_by_id = {TableId(*table_id): table for table_id, table in tables}
                yield entry.key_group, GroupPart(tables_by_id, event, processing)

    def verify(self) -> None:
        """Reads every frame; StateError when one is damaged."""
        for entry in self._entries:
            self._read_frame(entry.offset)

    def _entries_of(self, operator_id: str, kind: int) -> Iterator[_IndexEntry]:
        if operator_id in self._operators:
            operator = self._operators.index(operator_id)
            yield from (entry for entry in self._entries if entry.operator == operator and entry.kind == kind)

    def _check_header(self) -> None:
        self._file.seek(0)
        data = self._file.read(_HEADER.size)
        if data[: len(_MAGIC)] != _MAGIC[: len(data)]:
            raise self._damaged("is not a snapshot")
        if len(data) < _HEADER.size:
            raise self._damaged("is truncated: it ends within its first bytes")
        _, version, reserved = _HEADER.unpack(data)
        if version != _VERSION or reserved != 0:
            raise self._damaged(f"has format {version}.{reserved}, and this version of Funke reads {_VERSION}.0")

    def _read_index(self) -> None:
        size = self._file.seek(0, io.SEEK_END)
        if size < _HEADER.size + _FRAME.size + _FOOTER.size:
            raise self._damaged(f"is truncated: it has only {size} bytes")
        self._file.seek(size - _FOOTER.size)
        index_offset, checksum, magic = _FOOTER.unpack(self._file.read(_FOOTER.size))
        if magic != _END_MAGIC:
            raise self._damaged("is truncated or damaged: its end is missing")
        if zlib.crc32(struct.pack("<Q", index_offset)) != checksum:
            raise self._damaged("is damaged: the checksum of its last bytes does not match")
        content, end = self._read_frame(index_offset)
        if end != size - _FOOTER.size:
            raise self._damaged("is damaged: its index does not end where it must")
        self._operators, entries = unpack(content)
        self._entries = [_IndexEntry(*entry) for entry in entries]

    def _content(self, entry: _IndexEntry) -> Any:
        content, _ = self._read_frame(entry.offset)
        try:
            return unpack(content)
        except Exception as error:
            # The bytes are as they were written, so it is a class that has changed or gone.
            operator = self._operators[entry.operator]
            raise StateError(
                f"state of operator '{operator}' in snapshot '{self._name}' cannot be loaded: {error}"
            ) from error

    def _read_frame(self, offset: int) -> tuple[bytes, int]:
        self._file.seek(offset)
        head = self._file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise self._damaged(f"is truncated: the frame at byte {offset} is incomplete")
        kind, flags, operator, key_group, length, checksum = _FRAME.unpack(head)
        # A damaged length must not make us ask for terabytes.
        content = self._file.read(min(length, self._file.seek(0, io.SEEK_END) - self._file.seek(offset + _FRAME.size)))
        if len(content) < length:
            raise self._damaged(f"is truncated or damaged: the frame at byte {offset} is incomplete")
        if _checksum(kind, flags, operator, key_group, content) != checksum:
            raise self._damaged(f"is damaged: the checksum of the frame at byte {offset} does not match")
        end = offset + _FRAME.size + length
        return zlib.decompress(content) if flags & _COMPRESSED else content, end

    def _damaged(self, how: str) -> StateError:
        return StateError(f"the snapshot '{self._name}' {how}")


def _checksum(kind: int, flags: int, operator: int, key_group: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(struct.pack("<BBIIQ", kind, flags, operator, key_group, len(content))))


class HeldState(NamedTuple):
    """Roughly what a state takes in the files of a snapshot."""

    name: str
    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True)
class LocalFile:
    """A file of a snapshot on the disk of the slot."""

    path: str
    # What it must be called in the folder that `restore_native` is given.
    name: str
    # Names the content, for files that later checkpoints have too; None for files of this checkpoint alone.
    shared_id: str | None = None
    # In a file that describes the others: what they hold, as far as that is known.
    holds: tuple[HeldState, ...] = ()
