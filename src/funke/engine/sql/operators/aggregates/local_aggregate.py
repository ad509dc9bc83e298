"""The local step of a group aggregate: sends the accumulators of a bundle instead of its rows.

An entry has the columns of the key and the fields of all accumulators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.sql.binding.relations import Aggregation, Column
from funke.engine.sql.operators.aggregates.row_bundle import BundledOperator
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.slices.aggregate_block import Aggregates
from funke.engine.sql.operators.windows.slices.partial_aggregate import field_columns
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.sql.plan.aggregates.group_aggregate import LocalGroupAggregate

__all__ = ["LocalAggregateOperator", "entry_columns"]


def entry_columns(aggregation: Aggregation) -> tuple[Column, ...]:
    return (*(aggregation.input.columns[key] for key in aggregation.keys), *field_columns(aggregation.aggregates))


class LocalAggregateOperator(BundledOperator):
    """Keeps nothing beyond a bundle."""

    def __init__(self, node: LocalGroupAggregate) -> None:
        self.mini_batch = node.mini_batch
        self._input = schema_of(node.input.columns)
        self._entries = schema_of(node.columns)
        self._aggregates = Aggregates(node.keys, node.aggregates)

    def process_bundle(self, batch: ColumnBatch) -> None:
        """Sends the entries of a bundle."""
        batch = as_schema(batch, self._input)
        # This is what two phases are for: a key with a million rows in a bundle is one entry for the subtask that has
        # the key.
        codes, count = key_codes(self._aggregates.key_columns(batch.data), len(batch))
        block, _ = self._aggregates.of_rows(batch, codes, count)
        numbers = [each for fields in block.fields for each in fields]
        types = [field.type for field in self._entries][len(block.keys) :]
        arrays = [*block.keys, *map(pa.array, numbers, types)]
        self.output.emit_columns(ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=self._entries)))

    def metrics(self) -> dict[str, Any]:
        return {"numRecordsIn": self.records_in, "numRecordsOut": self.output.records_out}
