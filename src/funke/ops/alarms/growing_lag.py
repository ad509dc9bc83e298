"""Whether a job falls behind: its event time, or the records that wait in its source, by what it measured lately."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from funke.ops.alarms.spans import span_text
from funke.ops.history.points import Point

__all__ = ["growing_lag"]

_MINUTE_MS = 60_000
# Looked at, and what must be known of it at least.
_WINDOW_MS = 10 * _MINUTE_MS
_LEAST_MS = 2 * _MINUTE_MS
# Points that are older tell nothing about now.
_STALE_MS = 5 * _MINUTE_MS
# Less is the way event time goes: out of order, by windows, by batches.
_LEAST_LAG_MS = _MINUTE_MS
_LEAST_PENDING = 10_000.0
# Of each minute, what is lost at least: six seconds.
_LEAST_GROWTH = 0.1
_DIGITS = 3


def growing_lag(points: Sequence[Point], now_ms: int) -> str | None:
    """How far it is behind and how fast that grows, in words; None when it keeps up."""
    lag = _rise(points, "lag", now_ms)
    if lag is not None and lag[1] >= _LEAST_LAG_MS and lag[2] >= _LEAST_GROWTH * _MINUTE_MS:
        _, last, per_minute = lag
        return f"{span_text(last)} behind, {span_text(per_minute)} more each minute"
    pending = _rise(points, "pending", now_ms)
    if pending is not None and pending[1] >= max(_LEAST_PENDING, 2 * pending[0]):
        _, last, per_minute = pending
        return f"{_count(last)} records wait in its source, {_count(per_minute)} more each minute"
    return None


def _rise(points: Sequence[Point], series: str, now_ms: int) -> tuple[float, float, float] | None:
    """First, last and growth per minute, if it has risen from the first third to the second and on to the last."""
    samples = [
        (each.at_ms, value)
        for each in points
        if now_ms - each.at_ms <= _WINDOW_MS and not math.isnan(value := each.value(series))
    ]
    if len(samples) < 6 or samples[-1][0] - samples[0][0] < _LEAST_MS or now_ms - samples[-1][0] > _STALE_MS:
        return None
    third = len(samples) // 3
    parts = samples[:third], samples[third:-third], samples[-third:]
    low, middle, high = (fmean(value for _, value in part) for part in parts)
    if not low < middle < high:
        return None
    minutes = (fmean(at for at, _ in parts[2]) - fmean(at for at, _ in parts[0])) / _MINUTE_MS
    return samples[0][1], samples[-1][1], (high - low) / minutes


def _count(number: float) -> str:
    """A number with as many digits as can be read at a glance.

    >>> _count(1_234_567), _count(310)
    ('1,230,000', '310')
    """
    digits = max(0, len(str(int(abs(number)))) - _DIGITS)
    return f"{round(number / 10**digits) * 10**digits:,}"
