"""Lookups in tables that can only be read as a whole: their rows are held in memory by key."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.sql.connectors.lookup.caches import FullCache
from funke.engine.sql.connectors.lookup.lookup import KeyedTable, Lookup, LookupTable
from funke.engine.sql.connectors.lookup.reload_times import ReloadTimes
from funke.engine.sql.operators.calculate import schema_of

if TYPE_CHECKING:
    from funke.engine.connectors.source import Source
    from funke.engine.operators.time.clock import Clock
    from funke.engine.sql.binding.relations import Column
    from funke.engine.sql.connectors.table_source import TableSource

__all__ = ["ScannedLookupTable"]


@dataclass(frozen=True)
class ScannedLookupTable(LookupTable):
    """Read when a subtask opens, and again when it is old."""

    # Its source is made in the slot.
    table: TableSource
    ttl_ms: int

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.table.columns

    def create_lookup(self, keys: Sequence[int], clock: Clock) -> Lookup:
        rows = ScannedRows(self.table.create_source(), self.table.columns)
        return FullCache(rows, keys, ReloadTimes(self.ttl_ms), clock)


class ScannedRows(KeyedTable):
    """Reads all splits of a bounded source, one after the other."""

    def __init__(self, source: Source, columns: Sequence[Column]) -> None:
        self._source = source
        self._schema = schema_of(columns)

    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        return self.fetch_all()

    def fetch_all(self) -> pa.RecordBatch:
        batches = [each.cast(self._schema, safe=False) for each in self._batches() if each.num_rows]
        return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema=self._schema)

    def _batches(self) -> Iterator[Any]:
        # Not as a source of the job: each subtask of the join reads all splits by itself, when it opens and after the
        # TTL.
        enumerator, reader = self._source.create_enumerator(1), self._source.create_reader()
        reader.open()
        try:
            while not enumerator.is_finished:
                for split in enumerator.poll(sys.maxsize):
                    columns = reader.read_columns(split)
                    assert columns is not None, "sources of tables read columns"
                    yield from (each.data for each in columns)
        finally:
            reader.close()
            enumerator.close()

    def close(self) -> None:
        pass
