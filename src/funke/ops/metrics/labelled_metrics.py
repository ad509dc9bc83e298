"""Metrics of jobs with what they belong to: Flink's scopes, and their variables as labels."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.cluster_metrics import process_metrics
from funke.ops.metrics.flink_metrics import metrics_of_job, metrics_of_operators, metrics_of_task

__all__ = ["LabelledMetrics", "labelled_metrics", "worker_id"]

# Scope, labels, metrics.
LabelledMetrics = tuple[str, dict[str, str], Mapping[str, Any]]


def worker_id(view: JobView, host: str) -> str:
    """How the slots of a job on one host are named together, where Flink has a task manager."""
    return f"{host}-{view.job_id[:12]}"


def labelled_metrics(views: Iterable[JobView], cluster: Mapping[str, Any]) -> Iterator[LabelledMetrics]:
    """Of the cluster, then of jobs, their workers, their tasks and their operators."""
    host = socket.gethostname()
    yield "jobmanager", {"host": host}, cluster
    for view in views:
        of_job = {"host": host, "job_id": view.job_id, "job_name": view.name}
        yield "jobmanager.job", of_job, metrics_of_job(view)
        hosts = {subtask.host for vertex in view.vertices for subtask in vertex.subtasks if subtask.host}
        for each in sorted(hosts):
            yield "taskmanager", {"host": each, "tm_id": worker_id(view, each)}, process_metrics(view, each)
        for vertex in view.vertices:
            for subtask in vertex.subtasks:
                of_task = {
                    **of_job,
                    "host": subtask.host or "",
                    "tm_id": worker_id(view, subtask.host or ""),
                    "task_id": vertex.operators[0].id,
                    "task_name": vertex.name,
                    "task_attempt_num": str(subtask.attempt),
                    "subtask_index": str(subtask.subtask),
                }
                yield "taskmanager.job.task", of_task, metrics_of_task(view, vertex, subtask.subtask)
                for operator, metrics in metrics_of_operators(view, vertex, subtask.subtask):
                    labels = {**of_task, "operator_id": operator.id, "operator_name": operator.name}
                    yield "taskmanager.job.task.operator", labels, metrics
