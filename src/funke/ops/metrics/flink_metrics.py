"""The metrics of a job, its tasks and its operators, by Flink's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from funke.engine.jobs.views.job_view import JobView, OperatorView, VertexView
from funke.engine.types.job_status import JobStatus

__all__ = ["metrics_of_job", "metrics_of_operators", "plain_metrics", "metrics_of_task"]

# Of the first operator of a chain they are those of the task; of those that send to other tasks they add up.
_IN = ("numRecordsIn", "numRecordsInPerSecond")
_OUT = ("numRecordsOut", "numRecordsOutPerSecond")
_HEAD = ("currentInputWatermark", "pendingRecords")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
# Flink gives each of these a metric that says for how long the job is in it now, and one for all times together.
_TIMED = {
    JobStatus.RUNNING: "runningTime",
    JobStatus.RESTARTING: "restartingTime",
    JobStatus.FAILING: "failingTime",
    JobStatus.CANCELLING: "cancellingTime",
}
_LEFT_OUT = ("watermark", "records_read", "epochs", "epoch_ms_median")


def metrics_of_task(view: JobView, vertex: VertexView, subtask: int) -> dict[str, Any]:
    """What is known of a subtask as a whole."""
    metrics = dict(view.metrics.tasks.get(vertex.id, {}).get(subtask, {}))
    head = _of_operator(view, vertex.operators[0], subtask)
    metrics.update({name: head[name] for name in (*_IN, *_HEAD) if name in head})
    tails = _tails(view, vertex)
    for name in _OUT:
        sent = [own[name] for operator in tails if name in (own := _of_operator(view, operator, subtask))]
        if sent:
            metrics[name] = sum(sent)
    return {name: metrics[name] for name in sorted(metrics)}


def _tails(view: JobView, vertex: VertexView) -> list[OperatorView]:
    """The operators that send to other vertices; of the last vertex, its last operator."""
    sending = {edge.source_operator for edge in view.edges if edge.source_vertex == vertex.id}
    return [each for each in vertex.operators if each.id in sending] or [vertex.operators[-1]]


def metrics_of_operators(
    view: JobView, vertex: VertexView, subtask: int
) -> Iterator[tuple[OperatorView, dict[str, Any]]]:
    """What is known of each operator of a subtask, those that functions keep for themselves included."""
    for operator in vertex.operators:
        metrics = plain_metrics(_of_operator(view, operator, subtask))
        if metrics:
            yield operator, metrics


def _of_operator(view: JobView, operator: OperatorView, subtask: int) -> dict[str, Any]:
    return view.metrics.operators.get(operator.id, {}).get(subtask, {})


def plain_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Single values: a meter becomes its rate and its count, a distribution its statistics.

    >>> plain_metrics({"a": 1, "m": {"count": 2, "rate": 0.5}})
    {'a': 1, 'm': 0.5, 'm_count': 2}
    """
    values: dict[str, Any] = {}
    for name, value in metrics.items():
        if not isinstance(value, Mapping):
            values[name] = value
            continue
        for part, each in value.items():
            values[name if part == "rate" else f"{name}_{part}"] = each
    return {name: values[name] for name in sorted(values) if values[name] is not None}


def metrics_of_job(view: JobView) -> dict[str, Any]:
    """What is known of a job as a whole."""
    checkpoints = view.checkpoints
    last, restored = checkpoints.last_completed, checkpoints.last_restored
    metrics: dict[str, Any] = {name: value for name, value in view.metrics.job.items() if name not in _LEFT_OUT}
    metrics.update(
        numRestarts=view.restarts,
        fullRestarts=view.restarts,
        numberOfCompletedCheckpoints=checkpoints.completed,
        numberOfFailedCheckpoints=checkpoints.failed,
        numberOfInProgressCheckpoints=checkpoints.in_progress,
        totalNumberOfCheckpoints=checkpoints.completed + checkpoints.failed + checkpoints.in_progress,
        lastCheckpointDuration=-1 if last is None else last.duration_ms,
        lastCheckpointSize=-1 if last is None else last.size,
        lastCheckpointFullSize=-1 if last is None else last.full_size,
        lastCompletedCheckpointId=-1 if last is None else last.id,
        lastCheckpointExternalPath="n/a" if last is None else last.path,
        lastCheckpointRestoreTimestamp=-1 if restored is None else restored.triggered_ms,
        **_times_in_states(view),
    )
    return {name: metrics[name] for name in sorted(metrics)}


def _times_in_states(view: JobView) -> dict[str, int]:
    now = view.ended_ms if view.ended_ms is not None else view.seen_ms
    ends = [*(entry.since_ms for entry in view.status_history[1:]), now]
    totals = dict.fromkeys(_TIMED, 0)
    current = dict.fromkeys(_TIMED, 0)
    for entry, end in zip(view.status_history, ends):
        if entry.status in totals:
            spent = max(0, end - entry.since_ms)
            totals[entry.status] += spent
            if entry is view.status_history[-1] and view.ended_ms is None:
                current[entry.status] = spent
    times = {name: current[state] for state, name in _TIMED.items()}
    times.update({f"{name}Total": totals[state] for state, name in _TIMED.items()})
    is_running = view.status is JobStatus.RUNNING
    times["uptime"] = times["runningTime"] if is_running else 0
    times["downtime"] = 0 if is_running or view.ended_ms is not None else max(0, now - view.started_ms)
    return times


def metric_part(name: str) -> str:
    """A name as a part of a metric's: what separates parts, or means something in a query, is replaced.

    >>> metric_part("Map -> Filter (orders)")
    'Map_Filter_orders_'
    """
    return _NOT_IN_NAMES.sub("_", name)
