"""The writer of the file sink: sorts records into buckets and looks after their part files."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from funke.engine.connectors.file_sink.bucket import Bucket, BucketSettings, BucketState, RowBucket
from funke.engine.connectors.file_sink.bucket_assigner import BucketAssigner
from funke.engine.connectors.file_sink.compaction import CompactRequest, CompactStrategy, HeldFiles
from funke.engine.connectors.file_sink.part_name import part_number
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.sink import SinkWriter, WriterContext
from funke.engine.errors import SinkError

__all__ = ["FileSinkWriter"]

# Makes a bucket from its id, the id in the names of its files, and the number of its first file.
BucketFactory = Callable[[str, str, int], Bucket]


class FileSinkWriter(SinkWriter):
    """Writes the records of one subtask."""

    def __init__(
        self,
        context: WriterContext,
        assigner: BucketAssigner,
        settings: BucketSettings,
        create_bucket: BucketFactory,
        check_interval_ms: int,
        compact_strategy: CompactStrategy | None = None,
    ) -> None:
        self._held = _HeldBack(compact_strategy)
        self._now_ms = context.now_ms
        self._assign = assigner.assign
        self._settings = settings
        self._create_bucket = create_bucket
        self._check_interval_ms = check_interval_ms
        self._next_check_ms = context.now_ms() + check_interval_ms
        self._buckets: dict[str, Bucket] = {}
        self._end_of_input = False

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Appends a batch to the buckets of its records."""
        if not values:
            return
        now_ms = self._now_ms()
        for bucket_id, records in self._assign(values, timestamps, now_ms).items():
            self._bucket(bucket_id).write(records, now_ms)

    def _bucket(self, bucket_id: str) -> Bucket:
        bucket = self._buckets.get(bucket_id)
        if bucket is None:
            bucket = self._buckets[bucket_id] = self._new_bucket(bucket_id)
        return bucket

    def _new_bucket(self, bucket_id: str) -> Bucket:
        # Every bucket object names its files after an id of its own, so no attempt can overwrite another's files.
        return self._create_bucket(bucket_id, str(uuid.uuid4()), 0)

    def flush(self, end_of_input: bool) -> None:
        """Hands buffered bytes on, and remembers whether more records will come."""
        self._end_of_input = end_of_input
        for bucket in self._buckets.values():
            bucket.flush()

    def prepare_commit(self) -> list[Any]:
        """Closes files as the rolling policy says, at the end of input all of them."""
        self._drop_inactive_buckets()
        for bucket in self._buckets.values():
            self._held.add(bucket.bucket_id, bucket.prepare_commit(self._end_of_input))
        return self._held.release(self._end_of_input)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Remembers which checkpoint begins."""
        self._held.checkpoint_id = checkpoint_id

    def _drop_inactive_buckets(self) -> None:
        self._buckets = {bucket_id: bucket for bucket_id, bucket in self._buckets.items() if bucket.is_active}

    def snapshot(self) -> list[BucketState | HeldFiles]:
        """What is needed to go on after a restart; lists of several subtasks may be joined."""
        return [*(bucket.snapshot() for bucket in self._buckets.values()), *self._held.snapshot()]

    def restore(self, states: list[BucketState | HeldFiles]) -> None:
        """Goes on where the attempt before had its checkpoint."""
        for state in states:
            if isinstance(state, HeldFiles):
                self._held.add(state.bucket_id, list(state.files))
                continue
            self._remove_orphans(state)
            if state.part is None:
                continue
            bucket = self._bucket(state.bucket_id)
            if not isinstance(bucket, RowBucket):
                raise SinkError("files of a row format cannot be continued by a sink with a bulk format")
            bucket.resume(state.part)

    def _remove_orphans(self, state: BucketState) -> None:
        """Deletes files that were begun after the checkpoint: their records will be written again."""
        storage = self._settings.storage
        directory = storage.join(storage.root, state.bucket_id)
        for name in storage.list_names(directory):
            number = part_number(self._settings.file_config, state.writer_id, name)
            if number is not None and number >= state.next_counter:
                storage.delete(storage.join(directory, name))

    def next_wakeup_ms(self) -> int | None:
        """The next look at the ages of files, if there are any."""
        return self._next_check_ms if any(bucket.part for bucket in self._buckets.values()) else None

    def on_processing_time(self, now_ms: int) -> None:
        """Closes files that are too old."""
        if now_ms < self._next_check_ms:
            return
        for bucket in self._buckets.values():
            bucket.roll_by_time(now_ms)
        self._next_check_ms = now_ms + self._check_interval_ms

    def close(self) -> None:
        """Closes all files; what was not committed stays hidden."""
        for bucket in self._buckets.values():
            bucket.abandon()
        self._buckets = {}


class _HeldBack:
    """The finished files of a writer that wait to be compacted; without a strategy none of them waits."""

    def __init__(self, strategy: CompactStrategy | None) -> None:
        self._strategy = strategy
        self._files: dict[str, list[PendingFile]] = {}
        self.checkpoint_id = 0

    def add(self, bucket_id: str, files: list[PendingFile]) -> None:
        """Takes files of a bucket, in their order."""
        if files:
            self._files.setdefault(bucket_id, []).extend(files)

    def release(self, end_of_input: bool) -> list[Any]:
        """What is to be committed now."""
        strategy = self._strategy
        if strategy is None:
            released: list[Any] = [file for files in self._files.values() for file in files]
            self._files = {}
            return released
        requests = self._full_requests(strategy.size_threshold) if strategy.size_threshold >= 0 else []
        if end_of_input or strategy.is_due(self.checkpoint_id):
            requests += [CompactRequest(bucket_id, tuple(files), False) for bucket_id, files in self._files.items()]
            self._files = {}
        return requests

    def _full_requests(self, threshold: int) -> list[CompactRequest]:
        requests, waiting, self._files = [], self._files, {}
        for bucket_id, files in waiting.items():
            group, size = [], 0
            for file in files:
                group.append(file)
                size += file.size
                if size >= threshold:
                    requests.append(CompactRequest(bucket_id, tuple(group), True))
                    group, size = [], 0
            self.add(bucket_id, group)
        return requests

    def snapshot(self) -> list[HeldFiles]:
        """What waits."""
        return [HeldFiles(bucket_id, tuple(files)) for bucket_id, files in self._files.items()]


class StreamingFileSinkWriter(FileSinkWriter):
    """Names files after the subtask and leaves those that no checkpoint has closed under their hidden names."""

    def __init__(self, context: WriterContext, *arguments: Any) -> None:
        super().__init__(context, *arguments)
        self._subtask = context.subtask
        self._has_checkpoints = context.staging_folder is not None
        self._max_counter = 0

    def _new_bucket(self, bucket_id: str) -> Bucket:
        self._update_max_counter()
        return self._create_bucket(bucket_id, str(self._subtask), self._max_counter)

    def _update_max_counter(self) -> None:
        counters = [bucket.next_counter for bucket in self._buckets.values()]
        self._max_counter = max([self._max_counter, *counters])

    def _drop_inactive_buckets(self) -> None:
        self._update_max_counter()
        super()._drop_inactive_buckets()

    def prepare_commit(self) -> list[Any]:
        """Closes files at checkpoints; without any, the end of input closes and commits nothing."""
        if self._end_of_input and not self._has_checkpoints:
            return []
        return super().prepare_commit()

    def snapshot(self) -> list[BucketState | HeldFiles]:
        """The buckets, and the highest number used so far."""
        self._update_max_counter()
        return [*super().snapshot(), BucketState("", str(self._subtask), self._max_counter)]

    def restore(self, states: list[BucketState | HeldFiles]) -> None:
        """Goes on with the open files, and with numbers that no file has."""
        counters = [state.next_counter for state in states if isinstance(state, BucketState)]
        self._max_counter = max([self._max_counter, *counters])
        super().restore(states)

    def _remove_orphans(self, state: BucketState) -> None:
        # Names without a unique id may belong to another job that writes into the same directory.
        return
