"""Metrics of all jobs in the form that Prometheus reads, with Flink's names and labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.flink_metrics import plain_metrics
from funke.ops.metrics.labelled_metrics import LabelledMetrics, labelled_metrics

__all__ = ["CONTENT_TYPE", "prometheus_text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9:_]")


def prometheus_text(views: Iterable[JobView], cluster: Mapping[str, Any]) -> bytes:
    """All metrics, one line each."""
    registry = CollectorRegistry()
    registry.register(_Metrics(list(labelled_metrics(views, cluster))))
    return generate_latest(registry)


class _Metrics(Collector):
    """As in Flink, everything is a gauge: a counter of a job begins anew when the job does."""

    def __init__(self, groups: list[LabelledMetrics]) -> None:
        self._groups = groups

    def collect(self) -> Iterator[GaugeMetricFamily]:
        families: dict[str, GaugeMetricFamily] = {}
        for scope, labels, metrics in self._groups:
            for name, value in plain_metrics(metrics).items():
                number = _number(value)
                if number is None:
                    continue
                full = _NOT_IN_NAMES.sub("_", f"flink_{scope}_{name}")
                family = families.get(full)
                if family is None:
                    family = families[full] = GaugeMetricFamily(
                        full, f"{name} (scope: {scope.replace('.', '_')})", labels=list(labels)
                    )
                family.add_metric(list(labels.values()), number)
        yield from families.values()


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, int, float)):
        return float(value)
    # As the view writes what JSON does not know.
    return math.nan if value == "NaN" else None
