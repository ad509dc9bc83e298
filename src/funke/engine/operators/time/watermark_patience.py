"""Tells when windows cannot fire: records come, and no watermark does."""

from __future__ import annotations

import logging

from funke.engine.operators.operator import MIN_WATERMARK

__all__ = ["PATIENCE_MS", "WATERMARK_MISSING", "WatermarkPatience"]

_LOGGER = logging.getLogger(__name__)
# How long windows wait for a first watermark before the user gets a warning.
PATIENCE_MS = 10_000
# The metric of an operator whose windows have waited for longer; it has none otherwise.
WATERMARK_MISSING = "watermarkMissing"


class WatermarkPatience:
    """Waits for the first watermark of an operator with windows of event time, and warns once if it does not come."""

    def __init__(self, is_waiting: bool, advice: str) -> None:
        self._is_waiting = is_waiting
        self._advice = advice
        self._since_ms: int | None = None
        self._is_warned = False

    def is_over(self, watermark: int, records: int, now_ms: int, operator_name: str) -> bool:
        """Whether records have come for long, and no watermark."""
        if not self._is_waiting or not records:
            return False
        if watermark > MIN_WATERMARK:
            self._is_waiting = False
            return False
        if self._since_ms is None:
            self._since_ms = now_ms
        waited_ms = now_ms - self._since_ms
        if waited_ms < PATIENCE_MS:
            return False
        if not self._is_warned:
            self._is_warned = True
            _LOGGER.warning(
                "the windows of operator '%s' cannot fire: %d records have come in the last %d s, but no watermark. %s",
                operator_name,
                records,
                waited_ms // 1000,
                self._advice,
            )
        return True
