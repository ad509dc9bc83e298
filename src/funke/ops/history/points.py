"""One look at a job: its main metrics as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from funke.engine.jobs.views.job_view import JobView, VertexView
from funke.engine.types.job_status import JobStatus
from funke.ops.metrics.flink_metrics import metrics_of_task

__all__ = ["SERIES", "Point", "event_time_lag_ms", "point_of"]

# In the order in which files hold them: a new one needs a new name of the files.
SERIES = (
    *("records-in", "records-out", "busy", "backpressured", "lag", "pending", "checkpoint-duration", "state"),
    *("memory", "restarts", "checkpoints"),
)
# An event time that is so far in the past is that of test data, or of no record yet.
_LONGEST_LAG_MS = 10 * 365 * 86_400_000


@dataclass(frozen=True)
class Point:
    """The metrics of a job at one time, in the order of `SERIES`; NaN for what is not known."""

    at_ms: int
    values: tuple[float, ...]

    def value(self, series: str) -> float:
        """One of them."""
        return self.values[SERIES.index(series)]


def point_of(view: JobView) -> Point:
    """What a view tells."""
    # Between two attempts, metrics are those of the one before.
    is_running = view.status is JobStatus.RUNNING
    targets = {edge.target_vertex for edge in view.edges}
    senders = {edge.source_vertex for edge in view.edges}
    sources = [vertex for vertex in view.vertices if vertex.id not in targets]
    sinks = [vertex for vertex in view.vertices if vertex.id not in senders]
    tasks = [_tasks(view, vertex) for vertex in view.vertices]
    pressures = [vertex.pressure for vertex in view.vertices if vertex.pressure is not None and is_running]
    last = view.checkpoints.last_completed
    values = {
        "records-in": _read_per_second(view, sources) if is_running else 0.0,
        "records-out": _received_by_sinks(view, sinks) if is_running else 0.0,
        "busy": max((each.busy for each in pressures), default=math.nan),
        "backpressured": max((each.ratio for each in pressures), default=math.nan),
        "lag": event_time_lag_ms(view),
        "pending": _total(each for vertex in sources for each in _values(_tasks(view, vertex), "pendingRecords")),
        "checkpoint-duration": math.nan if last is None else last.duration_ms,
        "state": math.nan if last is None else float(last.full_size),
        "memory": _memory(view, tasks),
        "restarts": float(view.restarts),
        "checkpoints": float(view.checkpoints.completed),
    }
    return Point(view.seen_ms, tuple(values[name] for name in SERIES))


_Tasks = Mapping[int, Mapping[str, Any]]


def _tasks(view: JobView, vertex: VertexView) -> _Tasks:
    return {each.subtask: metrics_of_task(view, vertex, each.subtask) for each in vertex.subtasks}


def _values(tasks: _Tasks, name: str) -> Iterable[float]:
    return (float(metrics[name]) for metrics in tasks.values() if name in metrics)


def _total(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) if numbers else math.nan


def _received_by_sinks(view: JobView, sinks: Iterable[VertexView]) -> float:
    return _total(each for vertex in sinks for each in _values(_tasks(view, vertex), "numRecordsInPerSecond"))


def _read_per_second(view: JobView, sources: Iterable[VertexView]) -> float:
    """What the sources themselves emit: their chain may go on to a sink, which emits nothing."""
    heads = [view.metrics.operators.get(vertex.operators[0].id, {}) for vertex in sources]
    return _total(each for head in heads for each in _values(head, "numRecordsOutPerSecond"))


def event_time_lag_ms(view: JobView) -> float:
    """How far event time is behind, by the operator that is furthest behind; NaN without a plausible event time."""
    marks = [
        float(mark)
        for measured in view.metrics.operators.values()
        for metrics in measured.values()
        for mark in [metrics.get("currentInputWatermark", metrics.get("currentOutputWatermark"))]
        if isinstance(mark, (int, float))
    ]
    lags = [view.seen_ms - mark for mark in marks]
    if not lags:
        lags = [
            float(metrics["currentEmitEventTimeLag"])
            for measured in view.metrics.operators.values()
            for metrics in measured.values()
            if "currentEmitEventTimeLag" in metrics
        ]
    # Before it, there is no watermark yet; behind it (the end of input), nothing waits.
    return max((max(0.0, lag) for lag in lags if -86_400_000 < lag < _LONGEST_LAG_MS), default=math.nan)


def _memory(view: JobView, tasks: Iterable[_Tasks]) -> float:
    """Of all slots: every subtask tells it of the slot that it is in."""
    held: dict[int | None, float] = {}
    for vertex, metrics in zip(view.vertices, tasks):
        for each in vertex.subtasks:
            if "slotMemoryUsed" in metrics.get(each.subtask, {}):
                held[each.slot] = float(metrics[each.subtask]["slotMemoryUsed"])
    return sum(held.values()) if held else math.nan
