"""Reads a table of a database once, in parts that subtasks read side by side."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.jdbc.table_read import Condition, TableRead
from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.errors import SourceError

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import Database
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["JdbcScan", "PartitionBounds"]

DEFAULT_FETCH_ROWS = 10_000


@dataclass(frozen=True)
class PartitionBounds:
    """The rows whose values of a column are from `lower` to `upper`, in so many parts.

    >>> PartitionBounds("id", 3, 1, 10).ranges()
    [(1, 4), (5, 7), (8, 10)]
    """

    column: str
    number: int
    lower: int
    upper: int

    def ranges(self) -> list[tuple[int, int]]:
        """The parts, bounds included; the first ones are one longer where they cannot be equal, as in Flink."""
        values = self.upper - self.lower + 1
        parts = min(self.number, values)
        size, longer = divmod(values, parts)
        starts = [self.lower + part * size + min(part, longer) for part in range(parts + 1)]
        return [(start, end - 1) for start, end in itertools.pairwise(starts)]


class JdbcScan(Source):
    """Reads rows as columns. A part that was left in the middle goes on behind the rows that were read."""

    def __init__(
        self,
        database: Database,
        read: TableRead,
        bounds: PartitionBounds | None = None,
        fetch_rows: int = DEFAULT_FETCH_ROWS,
    ) -> None:
        from funke.engine.formats.table.table_format import row_type_info

        self._database = database
        self._read = read
        self._bounds = bounds
        self._fetch_rows = fetch_rows
        self.produced_type = row_type_info(read.fields)
        if bounds is None:
            self.fixed_parallelism = 1

    def create_enumerator(self, parallelism: int, restored: Any = None) -> _PartEnumerator:
        return _PartEnumerator(self._parts(), restored or 0)

    def _parts(self) -> list[TableRead]:
        if self._bounds is None:
            return [self._read]
        column = f"{self._database.quote(self._bounds.column)} BETWEEN ? AND ?"
        conditions = [Condition(column, bounds) for bounds in self._bounds.ranges()]
        return [replace(self._read, conditions=(each, *self._read.conditions)) for each in conditions]

    def create_reader(self) -> _PartReader:
        return _PartReader(self._database, self._fetch_rows)


class _PartEnumerator(SplitEnumerator):
    def __init__(self, parts: list[TableRead], position: int) -> None:
        self._parts = parts
        self._position = position

    def poll(self, max_records: int) -> list[Split]:
        """All parts at once."""
        first, self._position = self._position, len(self._parts)
        return [Split(str(index), self._parts[index]) for index in range(first, self._position)]

    @property
    def is_finished(self) -> bool:
        return self._position >= len(self._parts)

    def snapshot(self) -> int:
        return self._position


class _PartReader(SplitReader):
    def __init__(self, database: Database, fetch_rows: int) -> None:
        self._database = database
        self._fetch_rows = fetch_rows

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any]:
        """Yields the rows of a part, on a connection of its own."""
        from funke.engine.types.columns.column_batch import ColumnBatch

        read: TableRead = split.payload
        try:
            with contextlib.closing(self._database.connect()) as connection:
                self._database.prepare_reading(connection)
                for data in self._database.read(connection, read, self._fetch_rows):
                    yield ColumnBatch(data)
        except self._database.error as error:
            raise SourceError(f"the table {read.table!r} could not be read: {type(error).__name__}: {error}") from error

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """The same as rows."""
        from funke.engine.formats.table.table_format import row_type_info
        from funke.engine.types.columns.arrow_rows import ArrowRows

        to_rows = ArrowRows(row_type_info(split.payload.fields))
        for batch in self.read_columns(split):
            yield list(to_rows.rows(batch.data)), None
