"""Functions of partitions whose rows come sorted: of all partitions, only the one under way is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.operators.windows.over.partition_aggregate import PartitionResults, functions_of
from funke.engine.sql.plan.over.batch_over_aggregate import BatchOverAggregate
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["FoldPartitions"]


@dataclass(frozen=True)
class FoldPartitions:
    """The rows with their results, in the order in which they come."""

    node: BatchOverAggregate

    def run(self, batches: Iterator[ColumnBatch], task: TaskInfo) -> Iterator[ColumnBatch]:
        with functions_of(self.node).within(task):
            yield from self._folded(batches)

    def _folded(self, batches: Iterator[ColumnBatch]) -> Iterator[ColumnBatch]:
        results = PartitionResults(self.node)
        waiting: list[Any] = []
        key: Any = None
        for batch in batches:
            if not len(batch):
                continue
            codes, keys = results.partitions(batch.data)
            # Rows of a partition stand together: its last ones are in this batch, or are still to come.
            last = int((codes != codes[-1]).sum())
            ended = [*waiting, batch.data.slice(0, last)] if last else waiting
            if waiting and not last and keys[0] == key:
                # A partition is in memory as a whole: frames and LEAD may look at its last row.
                waiting.append(batch.data)
                continue
            if ended:
                yield ColumnBatch(results.of(pa.concat_batches(ended)))
            waiting, key = [batch.data.slice(last)], keys[len(keys) - 1]
        if waiting:
            yield ColumnBatch(results.of(pa.concat_batches(waiting)))
