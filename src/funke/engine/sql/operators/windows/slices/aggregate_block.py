"""Aggregates of many keys as columns: made of rows, put together, and read as results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.functions.aggregates.kernel import Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.operators.windows.key_codes import first_rows, key_codes
from funke.engine.sql.operators.windows.slices.pane_kernel import PaneKernel, pane_kernel
from funke.engine.types.columns import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["AggregateBlock", "Aggregates"]

_TAKEN_BACK = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


@dataclass(frozen=True)
class AggregateBlock:
    """One entry for each of some keys: its columns, how many rows it has, and its accumulators for each aggregate."""

    keys: tuple[pa.Array, ...]
    counts: Array
    fields: tuple[Fields, ...]

    def __len__(self) -> int:
        return len(self.counts)

    def take(self, indexes: Array) -> AggregateBlock:
        """Some of the entries."""
        chosen = pa.array(indexes)
        return AggregateBlock(
            tuple(each.take(chosen) for each in self.keys),
            self.counts[indexes],
            tuple(tuple(each[indexes] for each in fields) for fields in self.fields),
        )

    def slice(self, start: int, end: int) -> AggregateBlock:
        """Entries that follow each other, without copying them."""
        return AggregateBlock(
            tuple(each.slice(start, end - start) for each in self.keys),
            self.counts[start:end],
            tuple(tuple(each[start:end] for each in fields) for fields in self.fields),
        )


class Aggregates:
    """The aggregates of a query, computed for the rows of each key."""

    def __init__(self, keys: Sequence[int], uses: Sequence[BoundAggregate], has_retractions: bool = False) -> None:
        self._keys = tuple(keys)
        self._uses = tuple(uses)
        self.kernels = [pane_kernel(use.call, has_retractions) for use in uses]

    def key_columns(self, data: pa.RecordBatch) -> tuple[pa.Array, ...]:
        return tuple(data.column(each) for each in self._keys)

    def of_rows(self, batch: ColumnBatch, codes: Array, count: int) -> tuple[AggregateBlock, Array]:
        """One entry for each group of rows, and its first row; rows have the numbers of their groups, without gaps."""
        order, segments = Segments.of_codes(codes, count)
        indexes = pa.array(order)
        # A word among the arguments has no column.
        columns = {-1: ArgumentColumn(pa.nulls(0))}

        def column(index: int) -> ArgumentColumn:
            if index not in columns:
                columns[index] = ArgumentColumn(batch.data.column(index).take(indexes))
            return columns[index]

        signs = (
            None if batch.kinds is None else np.where(np.isin(batch.kinds, _TAKEN_BACK), -1, 1).astype(np.int8)[order]
        )
        fields = []
        for use, kernel in zip(self._uses, self.kernels):
            mask = None if use.condition is None else np.asarray(column(use.condition).array.fill_null(False))
            rows = AggregateRows(segments, [column(each) for each in use.arguments], signs, mask)
            fields.append(kernel.accumulate(kernel.create(count), rows))
        counts = segments.lengths if signs is None else np.add.reduceat(signs.astype(np.int64), segments.starts)
        firsts = order[segments.starts]
        chosen = pa.array(firsts)
        keys = tuple(each.take(chosen) for each in self.key_columns(batch.data))
        return AggregateBlock(keys, counts, tuple(fields)), firsts

    def merged(self, blocks: Sequence[AggregateBlock]) -> AggregateBlock:
        """One entry for each key of several blocks of a pane, in each of which it occurs once at most."""
        together = self._merged(blocks, [kernel.create for kernel in self.kernels])
        return together if len(blocks) == 1 else replace(together, fields=self.settled(together.fields))

    def of_panes(self, blocks: Sequence[AggregateBlock]) -> AggregateBlock:
        """One entry for each key of the blocks of several panes, which stay as they are."""
        # Panes stay for later windows, so what they are merged into starts empty. The user's `merge` sees panes alone.
        creates = [each.create_accumulators if isinstance(each, PaneKernel) else each.create for each in self.kernels]
        return self._merged([replace(each, fields=self.settled(each.fields)) for each in blocks], creates)

    def _merged(self, blocks: Sequence[AggregateBlock], creates: Sequence[Callable[[int], Fields]]) -> AggregateBlock:
        if len(blocks) == 1:
            return blocks[0]
        if _have_same_keys(blocks):
            return self._added_up(blocks, creates)
        keys = [pa.concat_arrays(columns) for columns in zip(*[block.keys for block in blocks])]
        codes, count = key_codes(keys, sum(map(len, blocks)))
        firsts = pa.array(first_rows(codes, count))
        counts: Array = np.zeros(count, np.int64)
        fields = [create(count) for create in creates]
        start = 0
        for block in blocks:
            indexes = codes[start : start + len(block)]
            start += len(block)
            counts[indexes] += block.counts
            for kernel, own, other in zip(self.kernels, fields, block.fields):
                together = kernel.merge(tuple(each[indexes] for each in own), other)
                # A key occurs once in a block, so no value is written over another one.
                for each, values in zip(own, together):
                    each[indexes] = values
        return AggregateBlock(tuple(pc.take(each, firsts) for each in keys), counts, tuple(fields))

    def _added_up(self, blocks: Sequence[AggregateBlock], creates: Sequence[Callable[[int], Fields]]) -> AggregateBlock:
        """Merges blocks with the same keys in the same order, as blocks of few keys mostly have, without gathering."""
        count = len(blocks[0])
        fields = []
        for index, (kernel, create) in enumerate(zip(self.kernels, creates)):
            own = create(count)
            for block in blocks:
                own = kernel.merge(own, block.fields[index])
            fields.append(own)
        return AggregateBlock(blocks[0].keys, sum(block.counts for block in blocks), tuple(fields))

    def concatenated(self, blocks: Sequence[AggregateBlock]) -> AggregateBlock:
        """The entries of several blocks."""
        return AggregateBlock(
            tuple(pa.concat_arrays(columns) for columns in zip(*[block.keys for block in blocks])),
            np.concatenate([block.counts for block in blocks]),
            tuple(
                tuple(np.concatenate(parts) for parts in zip(*[block.fields[index] for block in blocks]))
                for index in range(len(self.kernels))
            ),
        )

    def folded(self, block: AggregateBlock, first: Array) -> AggregateBlock:
        """One entry for the entries from each of some indexes to the next; the first one gives the key."""
        while len(first) < len(block):
            # Neighbours are put together, so that long rows of entries take few rounds.
            index = np.arange(len(block)) - np.repeat(first, np.diff(np.append(first, len(block))))
            is_right = index % 2 == 1
            right: Array = np.flatnonzero(is_right)
            left = right - 1
            block.counts[left] += block.counts[right]
            for kernel, fields in zip(self.kernels, block.fields):
                pairs = (tuple(each[side] for each in fields) for side in (left, right))
                for each, values in zip(fields, kernel.merge(*pairs)):
                    each[left] = values
            kept = np.flatnonzero(~is_right)
            block, first = block.take(kept), np.searchsorted(kept, first)
        return replace(block, fields=self.settled(block.fields))

    def settled(self, fields: tuple[Fields, ...]) -> tuple[Fields, ...]:
        """The fields with all waiting rows taken into accumulators."""
        return tuple(
            kernel.settled(each) if isinstance(kernel, PaneKernel) else each
            for kernel, each in zip(self.kernels, fields)
        )

    def weight(self, block: AggregateBlock) -> int:
        """The cost of putting a block together with others: its entries, or its rows if it keeps them."""
        keeps_rows = any(isinstance(each, PaneKernel) for each in self.kernels)
        return max(len(block), int(np.abs(block.counts).sum())) if keeps_rows else len(block)

    def results(self, block: AggregateBlock) -> list[pa.Array]:
        return [kernel.values(fields) for kernel, fields in zip(self.kernels, block.fields)]


def _have_same_keys(blocks: Sequence[AggregateBlock]) -> bool:
    first = blocks[0]
    return all(
        len(block) == len(first) and all(own.equals(other) for own, other in zip(block.keys, first.keys))
        for block in blocks[1:]
    )
