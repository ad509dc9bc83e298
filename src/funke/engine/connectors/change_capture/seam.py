"""Where the tables that were read meet the log: which changes are in the rows already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from funke.engine.connectors.change_capture.parts import FinishedChunk

__all__ = ["Seam", "Sight", "TableSeam"]


class Sight(Protocol):
    """What the transaction that read a chunk saw."""

    def sees(self, transaction: Any) -> bool:
        """Whether what a transaction did was there."""


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

    This is exact: no change between two positions of the log has to be looked at twice.
    """

    def __init__(self, chunks: Sequence[FinishedChunk], to_sight: Callable[[str], Sight]) -> None:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(each.seen for each in chunks))}
        self._seen = [to_sight(text) for text in numbers]
        parts: dict[str, list[FinishedChunk]] = {}
        for each in chunks:
            parts.setdefault(each.chunk.table.path, []).append(each)
        self._tables = {
            table: _table_seam(sorted(own_chunks, key=_order), numbers) for table, own_chunks in parts.items()
        }

    def snapshots_that_see(self, transaction: Any) -> Any:
        """For each snapshot, whether it has seen a transaction."""
        return np.array([each.sees(transaction) for each in self._seen], bool)

    def table(self, path: str) -> TableSeam | None:
        """How a table was read; None if it was not."""
        return self._tables.get(path)


def _table_seam(parts: Sequence[FinishedChunk], snapshots: Mapping[str, int]) -> TableSeam:
    lows = tuple(each.chunk.low for each in parts if each.chunk.low is not None)
    return TableSeam(lows, np.array([snapshots[each.seen] for each in parts]))


def _order(finished: FinishedChunk) -> tuple[int, float | int | str]:
    # States of older versions have no numbers, but only whole numbers as keys.
    low = finished.chunk.low
    return finished.chunk.number, float("-inf") if low is None else low
