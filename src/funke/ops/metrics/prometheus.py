"""Figures of all jobs in the form that Prometheus reads, with Flink's names and labels."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.job_figures import job_figures, operator_figures, plain_figures, task_figures

__all__ = ["CONTENT_TYPE", "prometheus_text"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9:_]")
# Scope, labels, figures.
_Group = tuple[str, dict[str, str], Mapping[str, Any]]


def prometheus_text(views: Iterable[JobView], cluster: Mapping[str, Any]) -> bytes:
    """All figures, one line each."""
    registry = CollectorRegistry()
    registry.register(_Figures([("jobmanager", {"host": socket.gethostname()}, cluster), *_groups(views)]))
    return generate_latest(registry)


class _Figures(Collector):
    """As in Flink, everything is a gauge: a counter of a job begins anew when the job does."""

    def __init__(self, groups: list[_Group]) -> None:
        self._groups = groups

    def collect(self) -> Iterator[GaugeMetricFamily]:
        families: dict[str, GaugeMetricFamily] = {}
        for scope, labels, figures in self._groups:
            for name, value in plain_figures(figures).items():
                number = _number(value)
                if number is None:
                    continue
                full = _NOT_IN_NAMES.sub("_", f"flink_{scope}_{name}")
                family = families.get(full)
                if family is None:
                    family = families[full] = GaugeMetricFamily(full, f"{name} (scope: {scope})", labels=list(labels))
                family.add_metric(list(labels.values()), number)
        yield from families.values()


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, int, float)):
        return float(value)
    # As the view writes what JSON does not know.
    return math.nan if value == "NaN" else None


def _groups(views: Iterable[JobView]) -> Iterator[_Group]:
    host = socket.gethostname()
    for view in views:
        of_job = {"host": host, "job_id": view.job_id, "job_name": view.name}
        yield "jobmanager_job", of_job, job_figures(view)
        for vertex in view.vertices:
            for subtask in vertex.subtasks:
                of_task = {
                    **of_job,
                    "host": subtask.host or "",
                    "tm_id": f"{subtask.host}-{view.job_id[:12]}",
                    "task_id": vertex.operators[0].id,
                    "task_name": vertex.name,
                    "task_attempt_num": str(subtask.attempt),
                    "subtask_index": str(subtask.subtask),
                }
                yield "taskmanager_job_task", of_task, task_figures(view, vertex, subtask.subtask)
                for operator, figures in operator_figures(view, vertex, subtask.subtask):
                    labels = {**of_task, "operator_id": operator.id, "operator_name": operator.name}
                    yield "taskmanager_job_task_operator", labels, figures
