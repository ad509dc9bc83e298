"""Metrics that user functions keep."""

from __future__ import annotations

from funke.engine.types.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["MetricGroup", "Metric", "Counter", "Meter", "Distribution"]
