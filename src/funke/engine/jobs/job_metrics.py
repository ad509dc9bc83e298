"""What a running job tells about itself, by the names under which users ask for it."""

from __future__ import annotations

import statistics
from typing import Any

from funke.engine.jobs.checkpoint_keeper import CheckpointKeeper
from funke.engine.jobs.coordinator import JobFigures
from funke.engine.planner.segments import Plan

__all__ = ["checkpoint_metrics", "job_metrics"]


def job_metrics(figures: JobFigures, plan: Plan) -> dict[str, Any]:
    """What operators and functions report, by `<operator>.<subtask>.<metric>`, and figures of the whole job."""
    values: dict[str, Any] = {
        "records_read": figures.records_read,
        "epochs": figures.epochs,
        "watermark": figures.watermark,
        "epoch_ms_median": statistics.median(figures.epoch_ms) if figures.epoch_ms else 0.0,
    }
    names = {operator.node_id: operator.name for segment in plan.segments for operator in segment.operators}
    tasks = {segment.id: segment.name for segment in plan.segments}
    last_epoch_ms = figures.epoch_ms[-1] if figures.epoch_ms else 0.0
    for report in figures.subtasks.values():
        # Of the last epoch; an operator's own share of its task is not measured, as in Flink.
        share = 1000 * report.busy_ms / last_epoch_ms if last_epoch_ms else 0.0
        values[f"{tasks[report.segment_id]}.{report.subtask}.busyTimeMsPerSecond"] = min(1000.0, share)
        for node_id, measured in report.metrics.items():
            for metric, value in measured.items():
                values[f"{names[node_id]}.{report.subtask}.{metric}"] = value
    return values


def checkpoint_metrics(keeper: CheckpointKeeper) -> dict[str, Any]:
    """Figures of checkpoints under Flink's names; sizes in bytes, times in milliseconds."""
    figures = keeper.figures
    if not (keeper.is_periodic or figures.completed or figures.failed):
        return {}
    return {
        "numberOfCompletedCheckpoints": figures.completed,
        "numberOfFailedCheckpoints": figures.failed,
        "numberOfInProgressCheckpoints": int(keeper.has_pending),
        "lastCheckpointDuration": figures.last_duration_ms,
        "lastCheckpointSize": figures.last_size,
        "lastCheckpointFullSize": figures.last_full_size,
        "lastCheckpointStall": figures.last_stall_ms,
        "lastCheckpointExternalPath": figures.last_path,
    }
