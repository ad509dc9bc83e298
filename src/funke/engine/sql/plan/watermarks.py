"""The granularity of watermarks among rows.

Rows are cut where watermarks stand, and short batches cost more. Where no node looks at event time they are not cut at
all. Windows whose bounds are multiples of a step do not see a difference between watermarks within one step, and
windows and OVER see none between watermarks that no late row follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["EVERY_WATERMARK", "FOR_LATE_ROWS", "WatermarkStep", "finer"]


@dataclass(frozen=True)
class WatermarkStep:
    """A consumer sees only which multiple of the size (plus the offset) a watermark has passed."""

    size_ms: int
    offset_ms: int = 0
    # A watermark is seen only by rows behind it whose time it has passed: the others find the same windows open,
    # whether it stands in front of them or behind.
    is_for_late_rows: bool = False


EVERY_WATERMARK = WatermarkStep(1)
FOR_LATE_ROWS = WatermarkStep(1, is_for_late_rows=True)


def finer(one: WatermarkStep | None, other: WatermarkStep | None) -> WatermarkStep | None:
    """A step that serves two consumers; None does not look at watermarks."""
    if one is None or other is None:
        return one or other
    size_ms = math.gcd(one.size_ms, other.size_ms, one.offset_ms - other.offset_ms)
    return WatermarkStep(size_ms, one.offset_ms, one.is_for_late_rows and other.is_for_late_rows)
