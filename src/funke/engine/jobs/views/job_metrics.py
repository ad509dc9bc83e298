"""What a running job tells about itself, by ids."""

from __future__ import annotations

import statistics
from typing import Any

from funke.engine.jobs.attempts.attempt import JobFigures
from funke.engine.jobs.checkpoints.checkpoint_keeper import CheckpointKeeper
from funke.engine.jobs.views.job_view import MetricsView
from funke.engine.planner.plan import Plan

__all__ = ["checkpoint_metrics", "job_metrics"]


def job_metrics(figures: JobFigures, plan: Plan) -> MetricsView:
    """What tasks, operators and functions report, by ids, and figures of the whole job."""
    job: dict[str, Any] = {
        "records_read": figures.records_read,
        "epochs": figures.epochs,
        "watermark": figures.watermark,
        "epoch_ms_median": statistics.median(figures.epoch_ms) if figures.epoch_ms else 0.0,
    }
    operator_ids = {each.node_id: each.operator_id for vertex in plan.graph.vertices for each in vertex.operators}
    tasks: dict[int, dict[int, dict[str, Any]]] = {}
    operators: dict[str, dict[int, dict[str, Any]]] = {}
    last_epoch_ms = figures.epoch_ms[-1] if figures.epoch_ms else 0.0
    for report in figures.subtasks.values():
        # Of the last epoch; an operator's own share of its task is not measured, as in Flink.
        share = 1000 * report.busy_ms / last_epoch_ms if last_epoch_ms else 0.0
        own = report.task_metrics or {"busyTimeMsPerSecond": min(1000.0, share)}
        tasks.setdefault(report.vertex_id, {})[report.subtask] = own
        for node_id, measured in report.metrics.items():
            operators.setdefault(operator_ids[node_id], {})[report.subtask] = measured
    return MetricsView(job, tasks, operators)


def checkpoint_metrics(keeper: CheckpointKeeper) -> dict[str, Any]:
    """Figures of checkpoints under Flink's names; sizes in bytes, times in milliseconds."""
    figures = keeper.figures
    if not (keeper.is_periodic or figures.completed or figures.failed):
        return {}
    last = figures.last_completed
    return {
        "numberOfCompletedCheckpoints": figures.completed,
        "numberOfFailedCheckpoints": figures.failed,
        "numberOfInProgressCheckpoints": int(keeper.has_pending),
        "lastCheckpointDuration": last.duration_ms if last is not None else 0.0,
        "lastCheckpointSize": last.size if last is not None else 0,
        "lastCheckpointFullSize": last.full_size if last is not None else 0,
        "lastCheckpointStall": last.stall_ms if last is not None else 0.0,
        "lastCheckpointExternalPath": last.path if last is not None else "",
    }
