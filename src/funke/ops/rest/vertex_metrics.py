"""Metrics of vertices and subtasks that several pages show."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.job_view import JobView, SubtaskView, VertexView
from funke.ops.metrics.flink_metrics import metric_part, metrics_of_operators, metrics_of_task
from funke.ops.metrics.labelled_metrics import worker_id
from funke.ops.rest.call import RestError

__all__ = [
    "IO_SHAPE",
    "find_subtask",
    "find_vertex",
    "io_metrics",
    "metrics_of",
    "subtask_times",
    "summed_metrics",
    "vertex_id",
    "vertex_times",
]

IO_SHAPE = {
    "read-bytes": int,
    "read-bytes-complete": bool,
    "write-bytes": int,
    "write-bytes-complete": bool,
    "read-records": int,
    "read-records-complete": bool,
    "write-records": int,
    "write-records-complete": bool,
    "accumulated-backpressured-time": int,
    "accumulated-idle-time": int,
    "accumulated-busy-time": float,
}
# Flink's names on these pages, and those of the metrics behind them.
_COUNTED = {
    "read-bytes": "numBytesIn",
    "write-bytes": "numBytesOut",
    "read-records": "numRecordsIn",
    "write-records": "numRecordsOut",
}
_TIMED = {
    "accumulated-backpressured-time": "accumulateBackPressuredTimeMs",
    "accumulated-idle-time": "accumulateIdleTimeMs",
}


def task_manager_id(view: JobView, host: str | None) -> str:
    """How the interface names the workers of a job on one host."""
    return "(unassigned)" if host is None else worker_id(view, host)


def vertex_id(vertex: VertexView) -> str:
    """How the interface names a vertex: by its first operator, as Flink does."""
    return vertex.operators[0].id


def find_vertex(view: JobView, wanted_id: str) -> VertexView:
    """The vertex that a path names."""
    vertex = next((each for each in view.vertices if vertex_id(each) == wanted_id), None)
    if vertex is None:
        raise RestError(404, f"Vertex {wanted_id[:100]} not found in job {view.job_id}")
    return vertex


def find_subtask(vertex: VertexView, number: int) -> SubtaskView:
    """The subtask that a path names."""
    subtask = next((each for each in vertex.subtasks if each.subtask == number), None)
    if subtask is None:
        raise RestError(404, f"Vertex {vertex_id(vertex)} has no subtask {number}")
    return subtask


def subtask_times(view: JobView, subtask: SubtaskView) -> tuple[int, int, int]:
    """When it began and ended, -1 for what has not happened, and how long it has taken."""
    start = subtask.entered_ms.get(ExecutionState.DEPLOYING, -1)
    end = subtask.entered_ms.get(subtask.state, -1) if subtask.state.is_terminal else -1
    if start < 0:
        return start, end, -1
    until = end if end >= 0 else view.ended_ms or int(time.time() * 1000)
    return start, end, max(0, until - start)


def vertex_times(view: JobView, subtasks: Iterable[SubtaskView]) -> tuple[int, int, int]:
    """The same of subtasks together: from the first beginning to the last end."""
    times = [subtask_times(view, each) for each in subtasks]
    start = min((each[0] for each in times if each[0] >= 0), default=-1)
    end = max((each[1] for each in times), default=-1) if all(each[1] >= 0 for each in times) else -1
    if start < 0:
        return start, end, -1
    until = end if end >= 0 else view.ended_ms or int(time.time() * 1000)
    return start, end, max(0, until - start)


def io_metrics(view: JobView, vertex: VertexView, subtask: int) -> dict[str, Any]:
    """What a subtask has read and written; what is not measured (a source reads no channel) is 0 and not complete."""
    return _io(metrics_of_task(view, vertex, subtask))


def _io(measured: dict[str, Any]) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for name, metric in _COUNTED.items():
        metrics[name] = int(measured.get(metric, 0))
        metrics[f"{name}-complete"] = metric in measured
    for name, metric in _TIMED.items():
        metrics[name] = int(measured.get(metric, 0))
    metrics["accumulated-busy-time"] = float(measured.get("accumulateBusyTimeMs", 0.0))
    return metrics


def summed_metrics(view: JobView, vertex: VertexView) -> dict[str, Any]:
    """The same of all subtasks of a vertex together."""
    each = [io_metrics(view, vertex, subtask.subtask) for subtask in vertex.subtasks]
    return {
        name: bool(each) and all(one[name] for one in each) if kind is bool else sum(one[name] for one in each)
        for name, kind in IO_SHAPE.items()
    }


def metrics_of(view: JobView, vertex: VertexView, subtask: int) -> dict[str, Any]:
    """All metrics of a subtask: its own by name, those of operators with the operator's name before."""
    metrics_by_name = metrics_of_task(view, vertex, subtask)
    for operator, metrics in metrics_of_operators(view, vertex, subtask):
        metrics_by_name.update({f"{metric_part(operator.name)}.{name}": value for name, value in metrics.items()})
    return metrics_by_name
