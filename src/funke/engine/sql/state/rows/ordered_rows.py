"""Rows in columns with what they are sorted by: what loops that keep some rows of each key work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.order_words import OrderWords
from funke.engine.sql.state.rows.growing_columns import GrowingColumns

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["OrderedRows"]

_STRINGS = pa.schema([pa.field("order", pa.large_binary())])
_NO_OFFSETS: Array = np.empty(0, np.int64)
_NO_BYTES: Array = np.empty(0, np.uint8)
# Copying a row costs less than finding out which ones to copy.
_SMALL_BATCH = 1 << 9


class OrderedRows:
    """Rows have numbers in the order in which they were added."""

    def __init__(self, schema: pa.Schema, order: Sequence[SortKey]) -> None:
        self.schema = schema
        self._words = OrderWords(schema, order)
        self.word_count, self.has_strings = self._words.count, self._words.has_strings
        self.clear()

    def clear(self) -> None:
        """Forgets all rows."""
        self._rows = GrowingColumns(self.schema)
        self._strings = GrowingColumns(_STRINGS)

    @property
    def count(self) -> int:
        """The number of the next row."""
        return self._rows.count

    def words_of(self, data: pa.RecordBatch) -> tuple[Array, Array, Array]:
        """The words of rows that are about to be added, and the offsets and bytes of all texts that decide further."""
        words, strings = self._words.of(data)
        if strings is None:
            return words, _NO_OFFSETS, _NO_BYTES
        self._strings.add(pa.RecordBatch.from_arrays([strings], schema=_STRINGS))
        return words, *self._strings.text_buffers(0)

    def adds_all(self, data: pa.RecordBatch) -> bool:
        """True if all rows of a batch are added: their texts are there before, or choosing would cost more."""
        return self.has_strings or data.num_rows < _SMALL_BATCH

    def add(self, data: pa.RecordBatch, entered: Array, is_first: bool = True) -> None:
        """Adds the rows of a batch that have entered, or all, with the first of them."""
        if self.adds_all(data):
            if is_first:
                self._rows.add(data)
        elif len(entered):
            self._rows.add(data if len(entered) == data.num_rows else data.take(pa.array(entered)))

    def put(self, data: pa.RecordBatch) -> Array:
        """Adds all rows; returns their words, a line for each."""
        words = self.words_of(data)[0]
        self._rows.add(data)
        return words.reshape(data.num_rows, self.word_count)

    def keep(self, rows: Array) -> None:
        """Forgets all rows but some, which get their numbers anew, from 0 on."""
        data = self.take(rows)
        self._rows.clear()
        self._strings.clear()
        if self.has_strings:
            self.words_of(data)
        self._rows.add(data)

    def take(self, rows: Array) -> pa.RecordBatch:
        """Rows by their numbers."""
        return self._rows.take_batch(rows)
