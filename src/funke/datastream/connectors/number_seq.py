"""A source that counts."""

from __future__ import annotations

from funke.datastream.connectors.base import Source
from funke.engine.connectors.sequence import SequenceSource

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """Gives the numbers from `start` to `end`, both included, as 64-bit integers.

    Each subtask counts through a part of the sequence, so that with one subtask the numbers come in order.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.number_seq import NumberSequenceSource
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "numbers")
    >>> sorted(numbers.execute_and_collect())
    [1, 2, 3, 4]
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(SequenceSource(start, end))
