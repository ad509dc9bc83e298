"""One bucket: the part file that is being written into a directory, and those that wait for their commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from funke.engine.connectors.file_sink.bulk_format import BulkWriter
from funke.engine.connectors.file_sink.encoders import BatchEncoder
from funke.engine.connectors.file_sink.part_file import BulkPart, PartFile, ResumablePart, RowPart
from funke.engine.connectors.file_sink.part_name import OutputFileConfig, to_in_progress_name
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.file_sink.rolling_policy import RollingPolicy
from funke.engine.connectors.file_sink.storage import Storage
from funke.engine.errors import SinkError

__all__ = ["Bucket", "BucketState", "BulkBucket", "RowBucket"]


@dataclass(frozen=True)
class BucketState:
    """What a checkpoint remembers of a bucket; the files it names `writer_id` were begun by the attempt before."""

    bucket_id: str
    writer_id: str
    next_counter: int
    part: ResumablePart | None = None


@dataclass(frozen=True)
class BucketSettings:
    """What all buckets of a writer share."""

    storage: Storage
    rolling_policy: RollingPolicy
    file_config: OutputFileConfig


class Bucket(ABC):
    """A directory that records are written into."""

    def __init__(self, bucket_id: str, writer_id: str, settings: BucketSettings, first_counter: int = 0) -> None:
        self.bucket_id = bucket_id
        self.writer_id = writer_id
        self.next_counter = first_counter
        self._settings = settings
        self._pending: list[PendingFile] = []

    @property
    @abstractmethod
    def part(self) -> PartFile | None:
        """The file being written."""

    @abstractmethod
    def write(self, values: list[Any], now_ms: int) -> None:
        """Appends records in order."""

    @abstractmethod
    def _forget_part(self) -> None:
        """The part file is complete."""

    @property
    def is_active(self) -> bool:
        """Whether there is anything to write, to commit or to remember."""
        return self.part is not None or bool(self._pending)

    def roll_by_time(self, now_ms: int) -> None:
        """Closes the part file if it is too old or was not written to for too long."""
        part = self.part
        if part is not None and self._settings.rolling_policy.should_roll_at_time(
            now_ms, part.created_ms, part.updated_ms
        ):
            self._close_part()

    def prepare_commit(self, end_of_input: bool) -> list[PendingFile]:
        """Closes the part file if a checkpoint or the end of input demands it; returns what is to be committed."""
        part = self.part
        if part is not None and (end_of_input or self._must_close_at_checkpoint(part)):
            self._close_part()
        pending, self._pending = self._pending, []
        return pending

    def _must_close_at_checkpoint(self, part: PartFile) -> bool:
        settings = self._settings
        return not settings.storage.can_resume or settings.rolling_policy.should_roll_at_checkpoint(part.size)

    def snapshot(self) -> BucketState:
        """What is needed to go on after a restart."""
        return BucketState(self.bucket_id, self.writer_id, self.next_counter)

    def flush(self) -> None:
        """Hands what is buffered to the operating system."""
        if self.part is not None:
            self.part.flush()

    def abandon(self) -> None:
        """Closes the part file without completing it."""
        if self.part is not None:
            self.part.abandon()
            self._forget_part()

    def _close_part(self) -> None:
        if self.part is not None:
            self._pending.append(self.part.close_for_commit())
            self._forget_part()

    def _create_file(self) -> tuple[IO[bytes], tuple[str, str]]:
        settings, storage = self._settings, self._settings.storage
        name = settings.file_config.part_name(self.writer_id, self.next_counter)
        self.next_counter += 1
        directory = storage.join(storage.root, self.bucket_id)
        paths = storage.join(directory, to_in_progress_name(name)), storage.join(directory, name)
        return storage.create(paths[0]), paths


class RowBucket(Bucket):
    """A bucket of files in a row format."""

    def __init__(
        self,
        bucket_id: str,
        writer_id: str,
        settings: BucketSettings,
        first_counter: int,
        encode: BatchEncoder,
    ) -> None:
        super().__init__(bucket_id, writer_id, settings, first_counter)
        self._encode = encode
        self._part: RowPart | None = None

    @property
    def part(self) -> PartFile | None:
        return self._part

    def _forget_part(self) -> None:
        self._part = None

    def write(self, values: list[Any], now_ms: int) -> None:
        """Appends the batch at once, unless the part file grows too large within it."""
        data = self._encode(values)
        size = self._part.size if self._part is not None else 0
        if not self._settings.rolling_policy.should_roll_before_write(size + len(data)):
            self._open_part(now_ms).append(data, now_ms)
            return
        for value in values:
            self._open_part(now_ms).append(self._encode([value]), now_ms)

    def _open_part(self, now_ms: int) -> RowPart:
        part = self._part
        if part is not None and self._settings.rolling_policy.should_roll_before_write(part.size):
            self._close_part()
            part = None
        if part is None:
            stream, paths = self._create_file()
            part = self._part = RowPart(self._settings.storage, stream, paths, now_ms)
        return part

    def resume(self, resumable: ResumablePart) -> None:
        """Goes on with a file of the attempt before, after dropping what was written since the checkpoint."""
        # When the parallelism was lowered, a bucket can inherit several files: all but the last are complete.
        self._close_part()
        storage = self._settings.storage
        size = storage.size(resumable.in_progress_path)
        if size is None or size < resumable.size:
            raise SinkError(
                f"{resumable.in_progress_path} cannot be continued: the checkpoint saw {resumable.size} bytes in it, "
                + ("and it is gone" if size is None else f"and it has {size}")
            )
        stream = storage.resume(resumable.in_progress_path, resumable.size)
        paths = resumable.in_progress_path, resumable.final_path
        self._part = RowPart(storage, stream, paths, resumable.created_ms, resumable.size)

    def snapshot(self) -> BucketState:
        """What is needed to go on after a restart, the open file included."""
        resumable = self._part.persist() if self._part is not None else None
        return BucketState(self.bucket_id, self.writer_id, self.next_counter, resumable)


class BulkBucket(Bucket):
    """A bucket of files in a bulk format."""

    def __init__(
        self,
        bucket_id: str,
        writer_id: str,
        settings: BucketSettings,
        first_counter: int,
        open_writer: Callable[[IO[bytes]], BulkWriter],
    ) -> None:
        super().__init__(bucket_id, writer_id, settings, first_counter)
        self._open_writer = open_writer
        self._part: BulkPart | None = None

    @property
    def part(self) -> PartFile | None:
        return self._part

    def _forget_part(self) -> None:
        self._part = None

    def write(self, values: list[Any], now_ms: int) -> None:
        if self._part is None:
            stream, paths = self._create_file()
            self._part = BulkPart(self._settings.storage, stream, paths, now_ms, self._open_writer(stream))
        self._part.add(values, now_ms)

    def _must_close_at_checkpoint(self, part: PartFile) -> bool:
        # A bulk file cannot be interrupted, so nothing can be remembered of one that is open.
        return True
