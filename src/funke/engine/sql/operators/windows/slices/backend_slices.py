"""Slices in a state backend that is larger than memory: one read and one write for the keys of a batch in a slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.sql.operators.windows.slices.slice_store import SliceStore
from funke.engine.sql.state.keyed_columns import ColumnLayout, Columns, KeyedColumns
from funke.engine.sql.state.stored_entries import from_entries
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.logical.data_type import DataType

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["BackendSlices", "SliceEntries"]


class SliceEntries:
    """The entry of a key in a slice: the values of the key, the number of rows, the accumulators."""

    def __init__(self, aggregates: Aggregates, key_types: Sequence[DataType]) -> None:
        self._aggregates = aggregates
        self._key_types = list(key_types)
        self.layout = ColumnLayout("window-slices", self._create)

    def _create(self, count: int) -> Columns:
        keys: list[Array] = [np.full(count, None, object) for _ in self._key_types]
        fields = [field for kernel in self._aggregates.kernels for field in kernel.create(count)]
        return (*keys, np.zeros(count, np.int64), *fields)

    def columns_of(self, block: AggregateBlock) -> Columns:
        """The entries of a block."""
        keys = [
            np.fromiter(to_values(column, each), object, len(block))
            for column, each in zip(block.keys, self._key_types)
        ]
        return (*keys, block.counts, *(field for fields in block.fields for field in fields))

    def block_of(self, columns: Columns) -> AggregateBlock:
        count = len(self._key_types)
        keys = tuple(from_values(each.tolist(), kind) for each, kind in zip(columns, self._key_types))
        fields, start = [], count + 1
        for kernel in self._aggregates.kernels:
            fields.append(tuple(columns[start : start + len(kernel.dtypes)]))
            start += len(kernel.dtypes)
        return AggregateBlock(keys, columns[count], tuple(fields))

    def blocks_of_parts(self, parts: Iterable[tuple[int, GroupPart]]) -> Iterator[tuple[Any, AggregateBlock]]:
        """The blocks of a snapshot that the backend has written, with the ends of their slices."""
        for _, part in parts:
            for table_id, table in part.tables.items():
                if table_id.name == self.layout.name and table:
                    yield table_id.namespace, self.block_of(from_entries(list(table.values()), self.layout))


class BackendSlices(SliceStore):
    """Every slice is a namespace of the state."""

    def __init__(
        self, aggregates: Aggregates, entries: SliceEntries, key_types: Sequence[DataType], state: KeyedColumns
    ) -> None:
        self._aggregates = aggregates
        self._entries = entries
        self._keys = KeyColumns(range(len(key_types)), key_types)
        self._state = state
        self._ends: set[int] = set()

    def add(self, slice_end: int, block: AggregateBlock) -> None:
        names = [str(index) for index in range(len(block.keys))]
        data = pa.RecordBatch.from_arrays(list(block.keys), names=names) if names else None
        codes, keys = (np.zeros(len(block), np.int64), [()]) if data is None else self._keys.encode(data)
        if len(keys) < len(block):
            # Keys that Arrow tells apart may be one to the state: -0.0 and 0.0.
            order, segments = Segments.of_codes(codes, len(keys))
            block = self._aggregates.folded(block.take(order), segments.starts)
        fetched = self._state.fetch(keys, slice_end)
        before = self._entries.block_of(fetched.columns)
        fields = tuple(
            kernel.merge(own, more) for kernel, own, more in zip(self._aggregates.kernels, before.fields, block.fields)
        )
        together = AggregateBlock(block.keys, before.counts + block.counts, self._aggregates.settled(fields))
        self._state.store(fetched, self._entries.columns_of(together))
        self._ends.add(slice_end)

    def add_ends(self, slice_ends: Iterable[int]) -> None:
        """There may be entries in these slices."""
        self._ends.update(slice_ends)

    def ends(self) -> list[int]:
        return sorted(self._ends)

    def merged(self, slice_ends: list[int]) -> AggregateBlock:
        # A window reads all keys of its slices: with HOP, and a size of 60 slides, every slice is read 60 times.
        blocks = [self._entries.block_of(self._state.entries(end)[1]) for end in slice_ends]
        return self._aggregates.of_panes(blocks)

    def replace(self, slice_ends: list[int], block: AggregateBlock) -> None:
        """They stay as they are: writing the block would cost more than reading them again."""

    def drop(self, slice_end: int) -> None:
        self._ends.discard(slice_end)
        self._state.drop(slice_end)
