"""Writes columns into part files, in the folders of their partitions, each row once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.file_sink.bucket_assigner import BasePathBucketAssigner
from funke.engine.connectors.file_sink.committer import FileCommitter
from funke.engine.connectors.file_sink.pending_file import PendingFile
from funke.engine.connectors.file_sink.sink import FileSink
from funke.engine.connectors.file_sink.storage import Storage, open_storage
from funke.engine.connectors.file_sink.writer import FileSinkWriter
from funke.engine.connectors.sink import Committer, Sink, WriterContext
from funke.engine.flink_exceptions import TableException
from funke.engine.formats.table.table_format import schema_of
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.filesystem.partition_paths import Partitions
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.types.columns.form_change import RowsToColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from funke.engine.formats.table.table_writer import TableFileWriter
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.row import RowKind

__all__ = ["FileTableSink", "TableFileSink"]


@dataclass(frozen=True)
class FileTableSink(TableSink):
    """Takes inserts."""

    sink: TableFileSink
    is_batch: bool
    parallelism: int | None = None
    summary = "filesystem"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        return INSERTS

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return self.sink

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
    # INSERT OVERWRITE: what was in the folders that are written to goes.
    replaces: bool = False
    # Says that a partition is complete; None for no such file.
    success_file: str | None = None
    bucket_assigner: Any = field(default_factory=BasePathBucketAssigner)

    takes_columns = True

    def _new_writer(self, context: WriterContext, *arguments: Any) -> FileSinkWriter:
        return _ColumnWriter(self, context, *arguments)

    def create_committer(self) -> Committer:
        if not self.replaces and self.success_file is None:
            return super().create_committer()
        return _PartitionCommitter(self.base_path, self.replaces, self.success_file)


class _ColumnWriter(FileSinkWriter):
    def __init__(self, sink: TableFileSink, context: WriterContext, *arguments: Any) -> None:
        super().__init__(context, *arguments)
        self._pieces = sink.writer.pieces
        self._partitions = sink.partitions
        self._schema = schema_of(sink.partitions.fields)
        self._input_type = context.input_type

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes rows in the form of columns too."""
        if values:
            self.write_columns(RowsToColumns(self._input_type).convert(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        """Appends a batch to the files of its partitions."""
        data, now_ms = batch.data.rename_columns(self._schema.names), self._now_ms()
        if data.schema != self._schema:
            data = data.cast(self._schema, safe=False)
        for folder, rows in self._partitions.split(data):
            self._bucket(folder).write(self._pieces(rows), now_ms)


class _PartitionCommitter(FileCommitter):
    """Replaces what folders held, and says that they are complete."""

    def __init__(self, base_path: str, replaces: bool, success_file: str | None) -> None:
        super().__init__(base_path)
        self._replaces = replaces
        self._success_file = success_file
        # What this job has put there stays.
        self._own: set[str] = set()

    def commit(self, committables: list[Any]) -> None:
        files = [each for each in committables if isinstance(each, PendingFile)]
        self._own |= {file.final_path for file in files}
        folders = {os.path.dirname(file.final_path) for file in files}
        storage = open_storage(self._base_path)
        if self._replaces:
            for folder in folders:
                self._clear(storage, folder)
        super().commit(committables)
        for folder in folders if self._success_file else ():
            path = storage.join(folder, self._success_file or "")
            storage.delete(path)
            storage.create(path).close()

    def _clear(self, storage: Storage, folder: str) -> None:
        for name in storage.list_names(folder):
            path = storage.join(folder, name)
            if not name.startswith((".", "_")) and path not in self._own:
                storage.delete(path)
