"""What a running job tells about itself, by ids."""

from __future__ import annotations

from statistics import median
from typing import Any

from funke.engine.jobs.attempts.attempt import JobStatistics
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.jobs.views.job_view import MetricsView
from funke.engine.planner.plan import Plan

__all__ = ["checkpoint_metrics", "job_metrics"]


def job_metrics(statistics: JobStatistics, plan: Plan) -> MetricsView:
    """What tasks, operators and functions report, by ids, and metrics of the whole job."""
    job: dict[str, Any] = {
        "records_read": statistics.records_read,
        "epochs": statistics.epochs,
        "watermark": statistics.watermark,
        "epoch_ms_median": median(statistics.epoch_ms) if statistics.epoch_ms else 0.0,
    }
    operator_ids = {each.node_id: each.operator_id for vertex in plan.graph.vertices for each in vertex.operators}
    tasks: dict[int, dict[int, dict[str, Any]]] = {}
    operators: dict[str, dict[int, dict[str, Any]]] = {}
    last_epoch_ms = statistics.epoch_ms[-1] if statistics.epoch_ms else 0.0
    # A copy: the thread of the job adds the first reports of subtasks meanwhile.
    for report in list(statistics.subtasks.values()):
        # Of the last epoch; an operator's own share of its task is not measured, as in Flink.
        share = 1000 * report.busy_ms / last_epoch_ms if last_epoch_ms else 0.0
        own = report.task_metrics or {"busyTimeMsPerSecond": min(1000.0, share)}
        tasks.setdefault(report.vertex_id, {})[report.subtask] = own
        for node_id, measured in report.metrics.items():
            operators.setdefault(operator_ids[node_id], {})[report.subtask] = measured
    return MetricsView(job, tasks, operators)


def checkpoint_metrics(checkpoint_coordinator: CheckpointCoordinator) -> dict[str, Any]:
    """Metrics of checkpoints under Flink's names; sizes in bytes, times in milliseconds."""
    statistics = checkpoint_coordinator.statistics
    if not (checkpoint_coordinator.is_periodic or statistics.completed or statistics.failed):
        return {}
    last = statistics.last_completed
    return {
        "numberOfCompletedCheckpoints": statistics.completed,
        "numberOfFailedCheckpoints": statistics.failed,
        "numberOfInProgressCheckpoints": int(checkpoint_coordinator.has_pending),
        "lastCheckpointDuration": last.duration_ms if last is not None else 0.0,
        "lastCheckpointSize": last.size if last is not None else 0,
        "lastCheckpointFullSize": last.full_size if last is not None else 0,
        "lastCheckpointStall": last.stall_ms if last is not None else 0.0,
        "lastCheckpointExternalPath": last.path if last is not None else "",
    }
