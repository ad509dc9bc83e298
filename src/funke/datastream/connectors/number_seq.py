"""A source that counts."""

from __future__ import annotations

from funke.datastream.connectors.base import Source
from funke.engine.connectors.sequence import SequenceSource

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """Gives the numbers from `start` to `end`, both included, as 64-bit integers.

    Each subtask counts through a part of the sequence, so that with one subtask the numbers come in order.
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(SequenceSource(start, end))
