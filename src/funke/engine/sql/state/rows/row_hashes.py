"""Hashes of rows by some of their columns: 64 bits that an attacker cannot choose."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from funke.engine.kernels.hash_rows import hash_rows
from funke.engine.kernels.kernel import address
from funke.engine.sql.state.rows.row_bytes import row_hashes
from funke.engine.sql.state.rows.row_copies import BatchColumns

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["RowHashes"]

_WORD = np.dtype(np.int64)
# Random, so that nobody can choose rows with equal hashes. Snapshots have rows, never hashes.
_KEYS = tuple(secrets.randbits(64) - (1 << 63) for _ in range(2))


class RowHashes:
    """Hashes of Python's bytes, 160 ns for a row of five columns, until the loop is compiled, which takes 35."""

    def __init__(self, identity: Sequence[int]) -> None:
        self._columns: Array = np.array(identity, np.int64)
        self._is_compiled = False

    def becomes_compiled(self, batch: BatchColumns) -> bool:
        """True if hashes have another form from this batch on."""
        if self._is_compiled:
            return False
        count = batch.data.num_rows
        self._is_compiled = batch.words(count) is not None and hash_rows.compiled(count) is not None
        return self._is_compiled

    def of(self, batch: BatchColumns) -> Array:
        """The hashes of the rows of a batch."""
        count = batch.data.num_rows
        if not count or not self._is_compiled:
            return row_hashes(batch.data, self._columns.tolist())
        words = batch.words(count)
        assert words is not None
        return self.of_table(words, count)

    def of_table(self, words: Array, count: int) -> Array:
        """The hashes of the first rows of columns."""
        hashes: Array = np.empty(count, np.int64)
        native = hash_rows.compiled(count)
        assert native is not None
        table, columns = address(words, _WORD), address(self._columns, _WORD)
        native(table, columns, len(self._columns), count, *_KEYS, address(hashes, _WORD))
        return hashes
