"""What many values have in common, under the names that Flink's pages give it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["STATISTICS_SHAPE", "statistics_of"]

_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
STATISTICS_SHAPE = {"min": int, "max": int, "avg": int, **dict.fromkeys(_PERCENTILES, float)}


def statistics_of(values: Sequence[int]) -> dict[str, Any]:
    """The least, the greatest, the average and some percentiles; zeros when there are no values."""
    ordered = sorted(values)
    if not ordered:
        return {"min": 0, "max": 0, "avg": 0, **dict.fromkeys(_PERCENTILES, 0.0)}
    last = len(ordered) - 1
    percentiles = {name: float(ordered[min(last, int(part * len(ordered)))]) for name, part in _PERCENTILES.items()}
    return {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered), **percentiles}
