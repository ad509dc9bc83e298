"""Where the tables that were read meet the log: which changes are in the rows already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funke.engine.connectors.postgres_cdc.settings import FinishedChunk
from funke.engine.connectors.postgres_cdc.visibility import Visibility

__all__ = ["Seam", "TableSeam"]


@dataclass(frozen=True)
class TableSeam:
    """The parts of a table in the order of their keys: from which key on, and by which snapshot they were read."""

    lows: tuple[int | str, ...]
    snapshots: np.ndarray

    @property
    def needs_keys(self) -> bool:
        """Whether parts were read by several snapshots, so that the key of a row matters."""
        return bool((self.snapshots != self.snapshots[0]).any())


class Seam:
    """A change is left out if the transaction that made it was seen when the rows of its key were read.

    Unlike positions in the log this is exact: whether a transaction was seen depends on its number alone.
    """

    def __init__(self, chunks: Sequence[FinishedChunk]) -> None:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(each.seen for each in chunks))}
        self._seen = [Visibility.from_text(text) for text in numbers]
        parts: dict[tuple[str, str], list[FinishedChunk]] = {}
        for each in chunks:
            parts.setdefault((each.chunk.table.schema, each.chunk.table.name), []).append(each)
        self._tables = {table: _table_seam(sorted(found, key=_order), numbers) for table, found in parts.items()}

    def snapshots_that_see(self, transaction: int) -> Any:
        """For each snapshot, whether it has seen a transaction."""
        return np.array([each.sees(transaction) for each in self._seen], bool)

    def table(self, schema: str, name: str) -> TableSeam | None:
        """How a table was read; None if it was not."""
        return self._tables.get((schema, name))


def _table_seam(parts: Sequence[FinishedChunk], snapshots: Mapping[str, int]) -> TableSeam:
    lows = tuple(each.chunk.low for each in parts if each.chunk.low is not None)
    return TableSeam(lows, np.array([snapshots[each.seen] for each in parts]))


def _order(finished: FinishedChunk) -> tuple[int, float | int | str]:
    # States of older versions have no numbers, but only whole numbers as keys.
    low = finished.chunk.low
    return finished.chunk.number, float("-inf") if low is None else low
