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

    def show(self, records: int, epochs: int, watermark: int) -> None:
        """Shows the progress of a job that runs for some seconds."""
        now = time.monotonic()
        elapsed = now - self._started
        if not self._is_shown or elapsed < _FIRST_AFTER_S or now - self._last < _AT_MOST_EVERY_S:
            return
        self._last = now
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
