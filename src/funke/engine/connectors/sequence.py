"""Counts from one number to another."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.errors import ConfigurationError
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.types.information.type_catalog import Types

__all__ = ["NumberRange", "SequenceReader", "SequenceSource"]


@dataclass(frozen=True)
class NumberRange:
    """The numbers from `start` to `end - 1`, as a piece of the split `id`."""

    id: str
    start: int
    end: int


class SequenceSource(Source):
    """Gives `start`, `end` and everything between; every subtask counts through a part of its own, in order.

    >>> [split.payload for split in SequenceSource(1, 10).create_enumerator(2).poll(4)]
    [NumberRange(id='0', start=1, end=3), NumberRange(id='1', start=6, end=8)]
    """

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ConfigurationError(
                f"a sequence cannot go from {start} to {end}: the start must not be behind the end"
            )
        self._start = start
        self._end = end
        self.produced_type = Types.LONG()

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SequenceEnumerator:
        """Divide the numbers among the subtasks, or go on with the parts that are left of an earlier division."""
        return SequenceEnumerator(divide(self._start, self._end + 1, parallelism) if restored is None else restored)

    def create_reader(self) -> SequenceReader:
        """Return a reader that counts."""
        return SequenceReader()


def divide(start: int, end: int, parts: int) -> list[NumberRange]:
    """Cut a range into parts of nearly the same length; none of them is empty."""
    parts = min(parts, end - start)
    bounds = [start + (end - start) * part // parts for part in range(parts + 1)] if parts > 0 else []
    return [NumberRange(str(part), *bounds[part : part + 2]) for part in range(parts)]


class SequenceEnumerator(SplitEnumerator):
    """Hands out the next numbers of every part."""

    def __init__(self, parts: list[NumberRange]) -> None:
        self._parts = list(parts)

    def poll(self, max_records: int) -> list[Split]:
        """Return a piece of every part."""
        share = -(-max_records // max(1, len(self._parts)))
        splits, rest = [], []
        for part in self._parts:
            middle = min(part.end, part.start + share)
            is_last = middle == part.end
            splits.append(Split(part.id, NumberRange(part.id, part.start, middle), is_last, middle - part.start))
            if not is_last:
                rest.append(NumberRange(part.id, middle, part.end))
        self._parts = rest
        return splits

    @property
    def is_finished(self) -> bool:
        """True when all numbers have been handed out."""
        return not self._parts

    def snapshot(self) -> list[NumberRange]:
        """Return what is left of every part."""
        return list(self._parts)


class SequenceReader(SplitReader):
    """Counts."""

    def behind(self, split: Split, records: int) -> Split:
        """Return the rest of a range."""
        numbers: NumberRange = split.payload
        return replace(split, payload=replace(numbers, start=numbers.start + records))

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the numbers of a range."""
        numbers: NumberRange = split.payload
        for start in range(numbers.start, numbers.end, BATCH_RECORDS):
            yield list(range(start, min(start + BATCH_RECORDS, numbers.end))), None
