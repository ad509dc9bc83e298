"""Group aggregates in two steps: what the rows of a bundle come to is computed where they are, and sent instead.

An entry has the columns of the key and the fields of all accumulators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Column, MiniBatch
from funke.engine.sql.changelog.change_kinds import has_retractions
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.row_bundle import BundledOperator
from funke.engine.sql.operators.windows.aggregate_block import Aggregates
from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.partial_aggregate import are_numbers, field_columns
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["LocalAggregate", "can_be_local", "entry_columns"]


def can_be_local(aggregation: Aggregation) -> bool:
    """Whether an aggregation is computed in two steps: of rows that stay, with accumulators that are numbers."""
    return (
        aggregation.is_two_phase
        and bool(aggregation.aggregates)
        and not has_retractions(aggregation.input)
        and are_numbers(aggregation.aggregates)
    )


def entry_columns(aggregation: Aggregation) -> tuple[Column, ...]:
    """The columns of entries."""
    return (*(aggregation.input.columns[key] for key in aggregation.keys), *field_columns(aggregation.aggregates))


@dataclass(frozen=True)
class LocalAggregate:
    """Makes the operator of the first step for a subtask."""

    inputs: tuple[Column, ...]
    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    aggregates: tuple[BoundAggregate, ...]
    mini_batch: MiniBatch | None

    @staticmethod
    def of(aggregation: Aggregation) -> LocalAggregate:
        """What a subtask has to know of an aggregation."""
        return LocalAggregate(
            aggregation.input.columns,
            entry_columns(aggregation),
            aggregation.keys,
            aggregation.aggregates,
            aggregation.mini_batch,
        )

    def __call__(self, task: TaskInfo) -> LocalAggregateOperator:
        return LocalAggregateOperator(self)


class LocalAggregateOperator(BundledOperator):
    """Keeps nothing beyond a bundle."""

    def __init__(self, spec: LocalAggregate) -> None:
        self.mini_batch = spec.mini_batch
        self._input = schema_of(spec.inputs)
        self._entries = schema_of(spec.columns)
        self._aggregates = Aggregates(spec.keys, spec.aggregates)

    def process_bundle(self, batch: ColumnBatch) -> None:
        """Sends the entries of a bundle."""
        batch = as_schema(batch, self._input)
        codes, count = key_codes(self._aggregates.key_columns(batch.data), len(batch))
        block, _ = self._aggregates.of_rows(batch, codes, count)
        numbers = [each for fields in block.fields for each in fields]
        types = [field.type for field in self._entries][len(block.keys) :]
        arrays = [*block.keys, *map(pa.array, numbers, types)]
        self.output.emit_columns(ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=self._entries)))

    def metrics(self) -> dict[str, Any]:
        return {"numRecordsIn": self.records_in, "numRecordsOut": self.output.records_out}
