"""Data that waits for its commit outside of the target: in files beside the checkpoints, or in the checkpoint."""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Any

from funke.engine.connectors.file_sink.storage import Storage, open_storage, to_absolute_path
from funke.engine.connectors.sink import SlotCommit, WriterContext
from funke.engine.errors import SinkError

__all__ = ["DamagedStagedDataError", "StagedData", "UnitWriter", "awaited", "self_contained"]

_LENGTH = struct.Struct(">Q")
# The length of a piece and its CRC-32.
_HEAD = struct.Struct(">QI")


class DamagedStagedDataError(SinkError):
    """What was prepared is gone or not as it was written: only an earlier checkpoint can bring it back."""


@dataclass(frozen=True)
class StagedData:
    """What one writer has prepared between two checkpoints.

    `owner` names job and sink, `writer` attempt and subtask; a writer counts what it prepares, so that a target that
    remembers the last number of every writer knows what it has already.
    """

    owner: str
    writer: str
    number: int
    # The folder as a path or URI; None when the data is `inline`.
    folder: str | None = None
    size: int = 0
    inline: tuple[bytes, ...] = ()
    # Whether the pieces in the file have checksums; those that earlier versions have staged have none.
    has_checksums: bool = False

    @property
    def name(self) -> str:
        """A name that nothing else has."""
        return f"{self.owner}-{self.writer}-{self.number}"

    @property
    def is_there(self) -> bool:
        """Whether it can be read, or was deleted after its commit."""
        if self.folder is None:
            return True
        storage, path = self._open(self.folder)
        return storage.size(path) is not None

    def chunks(self) -> Iterator[bytes]:
        """The pieces in the order in which they were added."""
        if self.folder is None:
            yield from self.inline
            return
        storage, path = self._open(self.folder)
        size = storage.size(path)
        if size != self.size:
            state = "is gone" if size is None else f"has {size} bytes instead of {self.size}"
            raise DamagedStagedDataError(f"output prepared for a commit {state}: {path}")
        with storage.read(path) as stream:
            yield from self._pieces(stream, path)

    def _pieces(self, stream: IO[bytes], path: str) -> Iterator[bytes]:
        head, left = _HEAD if self.has_checksums else _LENGTH, self.size
        while header := stream.read(head.size):
            length, *checksums = head.unpack(header)
            left -= head.size + length
            # A damaged length must not make us ask for terabytes.
            content = stream.read(length) if left >= 0 else b""
            if len(content) != length or (checksums and zlib.crc32(content) != checksums[0]):
                raise DamagedStagedDataError(f"output prepared for a commit is damaged: {path}")
            yield content

    def inlined(self) -> StagedData:
        """The same, with the data in itself."""
        return replace(self, folder=None, size=0, inline=tuple(self.chunks()), has_checksums=False)

    def delete(self) -> None:
        """Gives the space back; only after the commit."""
        if self.folder is not None:
            storage, path = self._open(self.folder)
            storage.delete(path)

    def _open(self, folder: str) -> tuple[Storage, str]:
        storage = open_storage(folder)
        return storage, storage.join(storage.root, _file_name(self.writer, self.number))


def self_contained(committables: list[Any]) -> list[Any]:
    """Committables that need no files of the job's own."""
    return [item.inlined() if isinstance(item, StagedData | SlotCommit) else item for item in committables]


def awaited(committables: list[Any]) -> list[Any]:
    """Committables to commit when the job ends, in the slot or in the driver."""
    return [item.awaited() if isinstance(item, SlotCommit) else item for item in committables]


def _file_name(writer: str, number: int) -> str:
    return f"{writer}-{number}.staged"


class UnitWriter:
    """Stages the data of one writer, in files if the job has a folder for them."""

    def __init__(self, context: WriterContext) -> None:
        self._owner = f"{context.job_id}/{context.operator_id}"
        self._writer = f"{context.attempt}-{context.subtask}"
        self._number = 0
        self._chunks: list[bytes] = []
        self._folder: str | None = None
        self._storage: Storage | None = None
        if context.staging_folder is not None:
            self._folder = to_absolute_path(f"{context.staging_folder}/{context.operator_id}")
            self._storage = open_storage(self._folder)
            # One subtask for all: there may have been more of them before.
            if context.subtask == 0:
                self._remove_leftovers(context.attempt)
        self._stream: IO[bytes] | None = None
        self._size = 0

    def _remove_leftovers(self, attempt: int) -> None:
        """Deletes what attempts before have staged: by now it is committed, or will be written again."""
        assert self._storage is not None
        for name in self._storage.list_names(self._storage.root):
            if (
                name.endswith(".staged")
                and name.partition("-")[0].isdecimal()
                and int(name.partition("-")[0]) < attempt
            ):
                self._storage.delete(self._storage.join(self._storage.root, name))

    def add(self, chunk: bytes) -> None:
        """Takes a piece."""
        if self._storage is None:
            self._chunks.append(chunk)
            return
        if self._stream is None:
            self._stream = self._storage.create(self._path)
        self._stream.write(_HEAD.pack(len(chunk), zlib.crc32(chunk)))
        self._stream.write(chunk)
        self._size += _HEAD.size + len(chunk)

    @property
    def _path(self) -> str:
        assert self._storage is not None
        return self._storage.join(self._storage.root, _file_name(self._writer, self._number))

    def finish(self) -> StagedData | None:
        """Makes durable what was added since the last call; None when that was nothing."""
        if self._stream is None and not self._chunks:
            return None
        if self._stream is not None:
            assert self._storage is not None
            self._storage.sync(self._stream)
            self._stream.close()
        own = self._owner, self._writer, self._number, self._folder, self._size, tuple(self._chunks)
        staged = StagedData(*own, has_checksums=self._folder is not None)
        self._stream, self._size, self._chunks = None, 0, []
        self._number += 1
        return staged

    def discard(self) -> None:
        """Drops what was added and not finished."""
        if self._stream is not None:
            assert self._storage is not None
            with contextlib.suppress(OSError):
                self._stream.close()
                self._storage.delete(self._path)
            self._stream = None
        self._chunks = []
