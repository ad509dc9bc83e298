"""The progress line of a long job on a terminal; silent when standard error is not one."""

from __future__ import annotations

import datetime
import sys
import time
from typing import ClassVar, TextIO

from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK

_FIRST_AFTER_S = 1.5
_AT_MOST_EVERY_S = 0.25


class ProgressLine:
    """Rewrites one line: records, records per second, epochs, watermark."""

    # Callers that print rows as they arrive turn it off.
    is_wanted: ClassVar[bool] = True

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._is_shown = self.is_wanted and self._stream.isatty()
        self._started = time.monotonic()
        self._last = 0.0
        self._width = 0

    @property
    def is_due(self) -> bool:
        """Whether `show` would show anything now."""
        now = time.monotonic()
        return self._is_shown and now - self._started >= _FIRST_AFTER_S and now - self._last >= _AT_MOST_EVERY_S

    def show(self, records: int, epochs: int, watermark: int) -> None:
        """Shows the progress of a job that runs for some seconds."""
        if not self.is_due:
            return
        self._last = time.monotonic()
        elapsed = self._last - self._started
        text = (
            f"{records:,} records  {records / elapsed:,.0f}/s  {epochs} epochs  watermark {watermark_text(watermark)}"
        )
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Takes the line away, so that other output starts on a clean one."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def watermark_text(watermark: int) -> str:
    """A watermark as people read it."""
    if watermark <= MIN_WATERMARK:
        return "-"
    if watermark >= MAX_WATERMARK:
        return "end"
    try:
        timestamp = datetime.datetime.fromtimestamp(watermark / 1000, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return str(watermark)
    return timestamp.strftime("%Y-%m-%d %H:%M:%S")
