"""The connector blackhole: takes everything, keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.connectors.discard import DiscardSink
from funke.engine.connectors.sink import Sink
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_sink import TableSink
from funke.engine.types.row import RowKind

__all__ = ["BlackholeFactory", "BlackholeTableSink"]


class BlackholeFactory(TableFactory):
    identifier = "blackhole"
    purpose = "Discards all rows, to measure queries."
    writes = True

    def create_sink(self, context: TableContext) -> BlackholeTableSink:
        return BlackholeTableSink()


@dataclass(frozen=True)
class BlackholeTableSink(TableSink):
    """Takes all changes, but does not need UPDATE_BEFORE."""

    summary = "blackhole"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        # As in Flink: a query in front of it does not compute the rows before updates, which nobody would read.
        return requested - {RowKind.UPDATE_BEFORE}

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return DiscardSink()

    def with_overwrite(self) -> BlackholeTableSink:
        return self

    def with_partition(self, values: object) -> BlackholeTableSink:
        return self
