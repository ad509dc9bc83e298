"""Where the tables that were read meet the log: which changes are in the rows already."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from funke.engine.connectors.postgres_cdc.settings import FinishedChunk
from funke.engine.connectors.postgres_cdc.visibility import Visibility

__all__ = ["Seam"]


class Seam:
    """A change is left out if the transaction that made it was seen when the rows of its key were read.

    Unlike positions in the log this is exact: whether a transaction was seen depends on its number alone.
    """

    def __init__(self, chunks: Sequence[FinishedChunk]) -> None:
        self._seen = {each.seen: Visibility.from_text(each.seen) for each in chunks}
        self._tables: dict[tuple[str, str], tuple[list[float], list[str]]] = {}
        for each in sorted(chunks, key=_low):
            table = each.chunk.table
            lows, texts = self._tables.setdefault((table.schema, table.name), ([], []))
            lows.append(_low(each))
            texts.append(each.seen)
        self._visible: dict[str, bool] = {}

    def begin(self, transaction: int) -> None:
        """Changes of a transaction follow."""
        self._visible = {text: seen.sees(transaction) for text, seen in self._seen.items()}

    @property
    def leaves_out_none(self) -> bool:
        """Whether nothing of this transaction was read."""
        return not any(self._visible.values())

    def leaves_out(self, schema: str, name: str, key: str | None) -> bool:
        """Whether a row with this value of the chunk column holds the change."""
        found = self._tables.get((schema, name))
        if found is None:
            return False
        lows, texts = found
        place = 0 if key is None or len(lows) == 1 else bisect_right(lows, int(key)) - 1
        return self._visible[texts[place]]


def _low(finished: FinishedChunk) -> float:
    low = finished.chunk.low
    return float("-inf") if low is None else low
