"""Merges small files into larger ones before they become visible: when, how, and what a checkpoint keeps of it.

Writers hold finished files back until there are enough of them, as part of their state. Then they ask the committer for
one file in their place, which it writes under a hidden name and renames; docs/sinks.md says what readers see.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, Any

from funke.engine.connectors.file_sink.bulk_format import BulkFormat
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.file_sink.storage import Storage
from funke.engine.errors import ConfigurationError, SinkError
from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.input_file import InputFile, reading_errors

__all__ = [
    "CompactRequest",
    "CompactStrategy",
    "Compactor",
    "ConcatCompactor",
    "HeldFiles",
    "IdenticalCompactor",
    "RecordWiseCompactor",
]

_COPY_BYTES = 1 << 22


@dataclass(frozen=True)
class CompactStrategy:
    """When files are compacted: at every so many checkpoints, and when a writer holds so many bytes of a bucket."""

    num_checkpoints: int = -1
    size_threshold: int = -1
    num_threads: int = 1

    def __post_init__(self) -> None:
        """Rejects a strategy under which files would wait for ever."""
        if self.num_checkpoints <= 0 and self.size_threshold < 0:
            raise ConfigurationError("a compact strategy needs a number of checkpoints or a size threshold")
        if self.num_threads < 1:
            raise ConfigurationError(f"the number of compact threads must be positive, got {self.num_threads}")

    def is_due(self, checkpoint_id: int) -> bool:
        """Whether a checkpoint ends the waiting; it is the same one for all writers, so their files get together."""
        return self.num_checkpoints > 0 and checkpoint_id % self.num_checkpoints == 0


@dataclass(frozen=True)
class HeldFiles:
    """The files of a bucket that a writer holds back; part of its state."""

    bucket_id: str
    files: tuple[PendingFile, ...]


@dataclass(frozen=True)
class CompactRequest:
    """Files of a bucket that are to become one; `is_full` means that they are large enough by themselves."""

    bucket_id: str
    files: tuple[PendingFile, ...]
    is_full: bool


class Compactor(ABC):
    """Makes one file of several; is pickled with the sink."""

    @property
    def keeps_one_as_it_is(self) -> bool:
        """Whether nothing changes when there is one file only."""
        return True

    @abstractmethod
    def compact(self, files: list[PendingFile], storage: Storage, target: IO[bytes]) -> None:
        """Writes the content of the files, in their order."""


@dataclass(frozen=True)
class ConcatCompactor(Compactor):
    """Puts one file behind the other, and the delimiter behind each of them."""

    delimiter: bytes | None = None

    @property
    def keeps_one_as_it_is(self) -> bool:
        """Not with a delimiter."""
        return not self.delimiter

    def compact(self, files: list[PendingFile], storage: Storage, target: IO[bytes]) -> None:
        for file in files:
            with storage.read(file.in_progress_path) as source:
                shutil.copyfileobj(source, target, _COPY_BYTES)
            if self.delimiter:
                target.write(self.delimiter)


@dataclass(frozen=True)
class IdenticalCompactor(Compactor):
    """Keeps a file as it is, and fails for more than one."""

    def compact(self, files: list[PendingFile], storage: Storage, target: IO[bytes]) -> None:
        """Rejects: a single file is not copied."""
        raise SinkError(
            f"the identical file compactor takes one file at a time, and there are {len(files)} to compact; use "
            "concat_file_compactor() for text, record_wise_file_compactor() for other formats"
        )


@dataclass(frozen=True)
class RecordWiseCompactor(Compactor):
    """Reads the records of all files and writes them again, for formats whose files cannot be joined."""

    reader: FileFormat
    writer: BulkFormat

    def compact(self, files: list[PendingFile], storage: Storage, target: IO[bytes]) -> None:
        writer = self.writer.create_writer(target, self.reader.produced_type)
        for file in files:
            try:
                for records in self._records(InputFile(file.in_progress_path, file.size, storage.uri)):
                    writer.write(records)
            except reading_errors() as error:
                raise SinkError(f"{file.in_progress_path} cannot be compacted: {error}") from error
        writer.finish()

    def _records(self, file: InputFile) -> Any:
        units = self.reader.units(file)
        return self.reader.read(file, 0, file.size if units is None else len(units))
