"""Windows as their definition has them, row by row: what the operators on columns are held against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from funke.engine.sql.window_kinds import (
    CumulativeWindows,
    HoppingWindows,
    SessionWindows,
    SlicedWindows,
    TumblingWindows,
    Windows,
)

__all__ = ["WindowModel"]


class WindowModel:
    """Takes rows (key, time, value) one by one, and watermarks; results are (key, start, end, values)."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._watermark = -(1 << 62)
        self._open: dict[tuple[Any, int, int], list[Any]] = defaultdict(list)
        self.results: list[tuple[Any, int, int, list[Any]]] = []
        self.late = 0

    def row(self, key: Any, time: int, value: Any) -> None:
        if isinstance(self._windows, SessionWindows):
            self._add_to_session(key, time, value, self._windows.gap_ms)
            return
        assert isinstance(self._windows, SlicedWindows)
        assigned = list(windows_of(self._windows, time))
        still_open = [each for each in assigned if each[1] - 1 > self._watermark]
        for start, end in still_open:
            self._open[key, start, end].append(value)
        self.late += bool(assigned and not still_open)

    def _add_to_session(self, key: Any, time: int, value: Any, gap_ms: int) -> None:
        start, end = time, time + gap_ms
        touching = [each for each in self._open if each[0] == key and each[1] <= end and start <= each[2]]
        merged = (key, min([start, *(each[1] for each in touching)]), max([end, *(each[2] for each in touching)]))
        if merged[2] - 1 <= self._watermark:
            self.late += 1
            return
        values = [item for each in touching for item in self._open.pop(each)]
        self._open[merged] = [*values, value]

    def watermark(self, watermark: int) -> None:
        self._watermark = watermark
        for key, start, end in [each for each in self._open if each[2] - 1 <= watermark]:
            self.results.append((key, start, end, self._open.pop((key, start, end))))


def windows_of(windows: SlicedWindows, time: int) -> Iterator[tuple[int, int]]:
    """The windows that a time belongs to."""
    offset = windows.offset_ms
    if isinstance(windows, TumblingWindows):
        size = windows.size_ms
        start = (time - offset) // size * size + offset
        yield start, start + size
    elif isinstance(windows, HoppingWindows):
        size, slide = windows.size_ms, windows.slide_ms
        start = (time - offset) // slide * slide + offset
        while start + size > time:
            yield start, start + size
            start -= slide
    else:
        assert isinstance(windows, CumulativeWindows)
        size, step = windows.max_size_ms, windows.step_ms
        start = (time - offset) // size * size + offset
        for end in range(start + step, start + size + 1, step):
            if end > time:
                yield start, end
