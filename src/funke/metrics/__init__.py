"""Metrics: counters, gauges, meters and distributions that user functions keep."""

from __future__ import annotations

from funke.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["MetricGroup", "Metric", "Counter", "Meter", "Distribution"]
