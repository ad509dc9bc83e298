"""Figures of jobs with what they belong to: Flink's scopes, and their variables as labels."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from funke.engine.jobs.views.job_view import JobView
from funke.ops.metrics.cluster_figures import process_figures
from funke.ops.metrics.job_figures import job_figures, operator_figures, task_figures

__all__ = ["LabelledFigures", "labelled_figures", "worker_id"]

# Scope, labels, figures.
LabelledFigures = tuple[str, dict[str, str], Mapping[str, Any]]


def worker_id(view: JobView, host: str) -> str:
    """How the slots of a job on one host are named together, where Flink has a task manager."""
    return f"{host}-{view.job_id[:12]}"


def labelled_figures(views: Iterable[JobView], cluster: Mapping[str, Any]) -> Iterator[LabelledFigures]:
    """Of the cluster, then of jobs, their workers, their tasks and their operators."""
    host = socket.gethostname()
    yield "jobmanager", {"host": host}, cluster
    for view in views:
        of_job = {"host": host, "job_id": view.job_id, "job_name": view.name}
        yield "jobmanager.job", of_job, job_figures(view)
        hosts = {subtask.host for vertex in view.vertices for subtask in vertex.subtasks if subtask.host}
        for each in sorted(hosts):
            yield "taskmanager", {"host": each, "tm_id": worker_id(view, each)}, process_figures(view, each)
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
                yield "taskmanager.job.task", of_task, task_figures(view, vertex, subtask.subtask)
                for operator, figures in operator_figures(view, vertex, subtask.subtask):
                    labels = {**of_task, "operator_id": operator.id, "operator_name": operator.name}
                    yield "taskmanager.job.task.operator", labels, figures
