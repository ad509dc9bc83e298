"""Writes columns into part files, in the folders of their partitions, each row once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner
from funke.engine.connectors.file_sink.committer import FileCommitter
from funke.engine.connectors.file_sink.compaction import Compactor, CompactRequest
from funke.engine.connectors.file_sink.part_name import to_compacted_name
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.file_sink.sink import FileSink
from funke.engine.connectors.file_sink.storage import Storage, open_storage
from funke.engine.connectors.file_sink.writer import FileSinkWriter
from funke.engine.connectors.sink import Committer, Sink, WriterContext
from funke.engine.flink_exceptions import TableException
from funke.engine.formats.input_file import InputFile
from funke.engine.formats.table.table_format import schema_of
from funke.engine.graph.partitioners import Partitioner, Rebalance
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.filesystem.partition_commit import (
    CompletePartition,
    PartitionCommits,
    PendingPartitions,
)
from funke.engine.sql.connectors.filesystem.partition_paths import Partitions
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.types.columns.form_change import RowsToColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from funke.engine.formats.table.table_format import TableFileFormat
    from funke.engine.formats.table.table_writer import BatchFileWriter, TableFileWriter
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.row import RowKind

__all__ = ["ColumnCompactor", "FileTableSink", "TableFileSink"]


@dataclass(frozen=True)
class FileTableSink(TableSink):
    """Takes the kinds of changes that its format can write."""

    sink: TableFileSink
    is_batch: bool
    parallelism: int | None = None
    summary = "filesystem"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        return self.sink.writer.kinds

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return self.sink

    @property
    def needs_watermarks(self) -> bool:
        return self.sink.commits is not None and self.sink.commits.is_by_event_time

    @property
    def partitioner(self) -> Partitioner | None:
        # Behind an exchange all writers have the same watermark at a checkpoint, so they agree on complete partitions.
        return Rebalance() if self.needs_watermarks else None

    def with_overwrite(self) -> FileTableSink:
        if not self.is_batch:
            raise TableException("Streaming mode not support overwrite.")
        return replace(self, sink=replace(self.sink, replaces=True))

    def with_partition(self, values: Mapping[str, str]) -> FileTableSink:
        return self


@dataclass(frozen=True, kw_only=True)
class TableFileSink(FileSink):
    """The file sink for columns; `format` is that of the writer's pieces."""

    writer: TableFileWriter
    partitions: Partitions
    # INSERT OVERWRITE: old files go, in the folders that get new ones.
    replaces: bool = False
    # Says that a partition is complete; None for no such file.
    success_file: str | None = None
    # When it is said; None: whenever files of the partition are committed.
    commits: PartitionCommits | None = None
    bucket_assigner: Any = field(default_factory=BasePathBucketAssigner)

    takes_columns = True

    def _new_writer(self, context: WriterContext, *arguments: Any) -> FileSinkWriter:
        return _ColumnWriter(self, context, *arguments)

    def create_committer(self) -> Committer:
        if not self.replaces and self.success_file is None:
            return super().create_committer()
        return _PartitionCommitter(
            self.base_path, self.compactor, self.replaces, self.success_file, self.commits is None
        )


class _ColumnWriter(FileSinkWriter):
    def __init__(self, sink: TableFileSink, context: WriterContext, *arguments: Any) -> None:
        super().__init__(context, *arguments)
        self._pieces = sink.writer.pieces
        self._partitions = sink.partitions
        self._schema = schema_of(sink.partitions.fields)
        self._input_type = context.input_type
        self._commits = sink.commits
        # Folders that are not reported complete yet, and when they were begun.
        self._pending: dict[str, int] = {}
        self._watermark = MIN_WATERMARK

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes rows in the form of columns too."""
        if values:
            self.write_columns(RowsToColumns(self._input_type).convert(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        """Appends a batch to the files of its partitions."""
        data, now_ms = batch.data.rename_columns(self._schema.names), self._now_ms()
        if data.schema != self._schema:
            data = data.cast(self._schema, safe=False)
        for folder, rows, kinds in self._partitions.split(data, batch.kinds):
            self._bucket(folder).write(self._pieces(rows, kinds), now_ms)
            if self._commits is not None:
                self._pending.setdefault(folder, now_ms)

    def write_watermark(self, watermark: int) -> None:
        self._watermark = watermark

    def prepare_commit(self) -> list[Any]:
        """Closes the files of complete partitions, and sends the partitions behind them."""
        complete = [each for each, begun_ms in self._pending.items() if self._is_complete(each, begun_ms)]
        for folder in complete:
            del self._pending[folder]
            if folder in self._buckets:
                self._held.add(folder, self._buckets[folder].prepare_commit(True))
        return [*super().prepare_commit(), *map(CompletePartition, complete)]

    def _is_complete(self, folder: str, begun_ms: int) -> bool:
        assert self._commits is not None
        if self._end_of_input:
            return True
        return self._commits.is_complete(folder, begun_ms, self._now_ms(), self._watermark)

    def snapshot(self) -> list[Any]:
        """The buckets, and the folders not reported yet."""
        pending = [PendingPartitions(tuple(self._pending.items()))] if self._pending else []
        return [*super().snapshot(), *pending]

    def restore(self, states: list[Any]) -> None:
        for state in states:
            if isinstance(state, PendingPartitions):
                self._pending.update(state.begun_ms)
        super().restore([each for each in states if not isinstance(each, PendingPartitions)])


class _PartitionCommitter(FileCommitter):
    """Replaces the files of folders, and marks complete partitions."""

    def __init__(
        self,
        base_path: str,
        compactor: Compactor | None,
        replaces: bool,
        success_file: str | None,
        reports_every_commit: bool,
    ) -> None:
        super().__init__(base_path, compactor)
        self._replaces = replaces
        self._success_file = success_file
        self._reports_every_commit = reports_every_commit
        # A job may commit more than once, and repeats a commit after a failure: its own files are not old ones.
        self._own: set[str] = set()

    def commit(self, committables: list[Any]) -> None:
        paths = {path for each in committables for path in _final_paths(each)}
        self._own |= paths
        folders = {os.path.dirname(path) for path in paths}
        storage = open_storage(self._base_path)
        if self._replaces:
            for folder in folders:
                self._clear(storage, folder)
        super().commit(committables)
        if not self._reports_every_commit:
            complete = [each.folder for each in committables if isinstance(each, CompletePartition)]
            folders = {storage.join(storage.root, folder) for folder in complete}
        for folder in folders if self._success_file else ():
            path = storage.join(folder, self._success_file or "")
            storage.delete(path)
            storage.create(path).close()

    def _clear(self, storage: Storage, folder: str) -> None:
        for name in storage.list_names(folder):
            path = storage.join(folder, name)
            # Names with . and _ are files in progress and markers, which readers skip as well.
            if not name.startswith((".", "_")) and path not in self._own:
                storage.delete(path)


def _final_paths(committable: PendingFile | CompactRequest | CompletePartition) -> list[str]:
    """The paths that files of a commit may get."""
    if isinstance(committable, CompletePartition):
        return []
    if isinstance(committable, PendingFile):
        return [committable.final_path]
    paths = [file.final_path for file in committable.files]
    return [*paths, *(os.path.join(os.path.dirname(path), to_compacted_name(os.path.basename(path))) for path in paths)]


@dataclass(frozen=True)
class ColumnCompactor(Compactor):
    """Reads the columns of all files and writes them again, for formats whose files cannot be joined."""

    reader: TableFileFormat
    writer: BatchFileWriter

    def compact(self, files: list[PendingFile], storage: Storage, target: IO[bytes]) -> None:
        written = self.writer.file_format.create_writer(target, None)
        for file in files:
            for batch in self.reader.columns_of(InputFile(file.in_progress_path, file.size, storage.uri)):
                written.write([batch])
        written.finish()
