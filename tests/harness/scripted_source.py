"""A source whose input is cut into epochs exactly as the test says."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from typing import Any

from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader


class ScriptedSource(Source):
    """Each item of `epochs` is what one epoch reads: a list of values, or of (value, timestamp) pairs.

    An endless one waits for more after the last, so that time goes on.
    """

    def __init__(
        self, epochs: list[list[Any]], *, has_timestamps: bool = False, splits: int = 1, is_endless: bool = False
    ) -> None:
        self._epochs = epochs
        self.is_bounded = not is_endless
        self._has_timestamps = has_timestamps
        self._splits = splits

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        return _ScriptedEnumerator(self._epochs, self._splits, is_endless=not self.is_bounded)

    def create_reader(self) -> SplitReader:
        return _ScriptedReader(self._has_timestamps)


class _ScriptedEnumerator(SplitEnumerator):
    def __init__(self, epochs: list[list[Any]], splits: int, is_endless: bool) -> None:
        self._waiting = list(epochs)
        self._is_endless = is_endless
        self._splits = splits

    def poll(self, max_records: int) -> list[Split]:
        if not self._waiting:
            return []
        records = self._waiting.pop(0)
        return [
            Split(f"split-{number}", records[number :: self._splits], is_last=self.is_finished)
            for number in range(self._splits)
        ]

    @property
    def is_finished(self) -> bool:
        return not self._waiting and not self._is_endless


class _ScriptedReader(SplitReader):
    def __init__(self, has_timestamps: bool) -> None:
        self._has_timestamps = has_timestamps

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        if not self._has_timestamps:
            yield split.payload, None
        elif split.payload:
            values, timestamps = zip(*split.payload)
            yield list(values), list(timestamps)


def cut(records: list[Any], indexes: list[int]) -> list[list[Any]]:
    """The records cut at the given positions into consecutive epochs."""
    bounds = [0, *sorted(index % (len(records) + 1) for index in indexes), len(records)]
    return [records[start:end] for start, end in itertools.pairwise(bounds)]
