"""Metrics by the names under which users ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from funke.engine.jobs.views.job_view import MetricsView, VertexView

__all__ = ["metrics_by_name"]


def metrics_by_name(metrics: MetricsView, vertices: tuple[VertexView, ...]) -> dict[str, Any]:
    """Metrics as `<operator>.<subtask>.<metric>`, and those of the job by their names.

    Operators that share a name are distinguished by id: `<operator>[<operator id>].<subtask>.<metric>`; tasks that
    share one, by the id of their first operator.
    """
    names = _unambiguous({operator.id: operator.name for vertex in vertices for operator in vertex.operators})
    heads = {vertex.id: vertex.operators[0].id for vertex in vertices}
    task_names = _unambiguous({heads[vertex.id]: vertex.name for vertex in vertices})
    values = dict(metrics.job)
    for vertex_id, task in metrics.tasks.items():
        values.update(_flat(task_names[heads[vertex_id]], task))
    for operator_id, by_subtask in metrics.operators.items():
        values.update(_flat(names[operator_id], by_subtask))
    return values


def _unambiguous(names: Mapping[str, str]) -> dict[str, str]:
    times = Counter(names.values())
    return {each: name if times[name] == 1 else f"{name}[{each}]" for each, name in names.items()}


def _flat(name: str, by_subtask: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        f"{name}.{subtask}.{metric}": value
        for subtask, measured in by_subtask.items()
        for metric, value in measured.items()
    }
