"""Reads the tables of the connector filesystem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from funke.engine.connectors.files.file_listing import list_files
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import SourceError
from funke.engine.sql.binding import Column
from funke.engine.sql.connectors.filesystem.table_files import FILE_METADATA, MetadataColumn, TableFiles
from funke.engine.sql.connectors.lookup.scanned_table import ScannedLookupTable
from funke.engine.sql.connectors.table_source import INSERTS, TableSource
from funke.engine.types.logical import RowField

if TYPE_CHECKING:
    from funke.engine.sql.binding import BoundExpression
    from funke.engine.sql.connectors.lookup.lookup import LookupTable
    from funke.engine.types.logical import DataType
    from funke.engine.types.row import RowKind

__all__ = ["FileTableSource"]

# How much smaller compressed texts usually are.
_COMPRESSION = 5


@dataclass(frozen=True)
class FileTableSource(TableSource):
    """Files below a path."""

    path: str
    files: TableFiles
    monitor_interval_ms: int | None = None
    path_pattern: str | None = None
    lookup_ttl_ms: int = 3_600_000
    summary = "filesystem"
    has_all_splits = True

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in self.files.fields)

    @property
    def kinds(self) -> frozenset[RowKind]:  # type: ignore[override]
        return self.files.kinds

    @property
    def is_bounded(self) -> bool:
        return self.monitor_interval_ms is None

    def size_bytes(self) -> int | None:
        """The sum of local files; None for others, which would have to be asked for over the network."""
        if "://" in self.path:
            return None
        try:
            return sum(each.size * (_COMPRESSION if each.is_compressed else 1) for each in list_files([self.path]))
        except SourceError:
            # The reader reports it.
            return None

    def create_source(self) -> FileSource:
        return FileSource([self.path], self.files, self.monitor_interval_ms, path_pattern=self.path_pattern)

    @property
    def metadata(self) -> Mapping[str, DataType]:
        return FILE_METADATA

    def with_metadata(self, columns: Sequence[tuple[str, str]]) -> FileTableSource:
        added = [MetadataColumn(RowField(name, FILE_METADATA[key]), key) for key, name in columns]
        return replace(self, files=self.files.with_metadata(added))

    def with_columns(self, indexes: Sequence[int]) -> FileTableSource:
        return replace(self, files=self.files.selecting(indexes))

    def with_condition(self, condition: BoundExpression) -> FileTableSource | None:
        # Only conditions on partitions and metadata are taken: `day = '2026-05-01'` skips whole files without opening
        # them.
        files = self.files.with_condition(condition)
        return None if files is None else replace(self, files=files)

    def lookup_table(self) -> LookupTable | None:
        """Lookups in the present files. Files of changes have none: the changes would have to be applied first."""
        if self.kinds != INSERTS:
            return None
        return ScannedLookupTable(replace(self, monitor_interval_ms=None), self.lookup_ttl_ms)

    def with_limit(self, limit: int) -> FileTableSource | None:
        if self.kinds != INSERTS:
            # Rows of the first changes may be deleted by later ones.
            return None
        return replace(self, files=replace(self.files, limit=limit))
