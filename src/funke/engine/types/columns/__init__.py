"""Batches of columns: Arrow record batches with row kinds and event times, their rows, and the hashes of their keys.

This package itself has only what loads neither NumPy nor Arrow: slots of programs without columns import it, too.
"""

from __future__ import annotations

from funke.engine.types.columns.arrays import Array, Datum
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = [
    "Array",
    "ColumnBatch",
    "Datum",
]
