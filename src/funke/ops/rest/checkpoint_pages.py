"""Checkpoints of a job: counts, history, sizes, what each slot wrote, and the settings behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.views.job_view import CheckpointView, JobView, SlotSnapshotView, VertexView
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics
from funke.ops.rest.call import Call, RestError, Route
from funke.ops.rest.shapes import ANY, Optional
from funke.ops.rest.value_statistics import STATISTICS_SHAPE, statistics_of
from funke.ops.rest.vertex_metrics import find_vertex, vertex_id

__all__ = ["ROUTES"]

# Flink's word for a limit that is not set.
_NO_LIMIT = 9_223_372_036_854_775_807


def checkpoints(call: Call) -> Any:
    view = call.job.view()
    statistics = view.checkpoints
    completed = [each for each in statistics.history if each.status == "COMPLETED"]
    return {
        "counts": {
            "restored": statistics.restored,
            "total": statistics.completed + statistics.failed + statistics.in_progress,
            "in_progress": statistics.in_progress,
            "completed": statistics.completed,
            "failed": statistics.failed,
        },
        "summary": _summary(completed),
        "latest": {
            "completed": _entry(view, statistics.last_checkpoint),
            "savepoint": _entry(view, statistics.last_savepoint),
            "failed": _entry(view, statistics.last_failed),
            "restored": _restored(statistics.last_restored),
        },
        "history": [_entry(view, each) for each in reversed(statistics.history)],
    }


def _summary(completed: Sequence[CheckpointView]) -> dict[str, Any]:
    return {
        "checkpointed_size": statistics_of([each.size for each in completed]),
        "state_size": statistics_of([each.full_size for each in completed]),
        "end_to_end_duration": statistics_of([round(each.duration_ms) for each in completed]),
        "processed_data": statistics_of([each.processed_bytes for each in completed]),
        "persisted_data": statistics_of([each.in_flight for each in completed]),
    }


def _entry(view: JobView, checkpoint: CheckpointView | None) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    subtasks = sum(vertex.parallelism for vertex in view.vertices)
    answered = sum(len(_slots_of(vertex, checkpoint)) for vertex in view.vertices)
    is_savepoint = checkpoint.kind == "savepoint"
    entry: dict[str, Any] = {
        "@class": checkpoint.status.lower(),
        "className": checkpoint.status.lower(),
        "id": checkpoint.id,
        "status": checkpoint.status,
        "is_savepoint": is_savepoint,
        "savepointFormat": "CANONICAL" if is_savepoint else None,
        "trigger_timestamp": checkpoint.triggered_ms,
        "latest_ack_timestamp": checkpoint.triggered_ms + round(checkpoint.duration_ms),
        "checkpointed_size": checkpoint.size,
        "state_size": checkpoint.full_size,
        "end_to_end_duration": round(checkpoint.duration_ms),
        "processed_data": checkpoint.processed_bytes,
        "persisted_data": checkpoint.in_flight,
        "num_subtasks": subtasks,
        "num_acknowledged_subtasks": subtasks if checkpoint.status == "COMPLETED" else answered,
        "checkpoint_type": _type_of(checkpoint),
        "stall_ms": checkpoint.stall_ms,
        "tasks": {},
    }
    if checkpoint.status == "COMPLETED":
        entry.update(external_path=checkpoint.path, discarded=False)
    if checkpoint.failure:
        entry.update(failure_timestamp=entry["latest_ack_timestamp"], failure_message=checkpoint.failure)
    return entry


def _type_of(checkpoint: CheckpointView) -> str:
    if checkpoint.kind == "savepoint":
        return "SAVEPOINT"
    return "UNALIGNED_CHECKPOINT" if checkpoint.is_unaligned else "CHECKPOINT"


def _restored(checkpoint: CheckpointView | None) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    return {
        "id": checkpoint.id,
        "restore_timestamp": checkpoint.triggered_ms,
        "is_savepoint": checkpoint.kind == "savepoint",
        "external_path": checkpoint.path,
    }


def details(call: Call) -> Any:
    view = call.job.view()
    checkpoint = _find(view, call.path_integer("checkpointid"))
    entry = _entry(view, checkpoint) or {}
    entry["tasks"] = {vertex_id(vertex): _task_entry(vertex, checkpoint) for vertex in view.vertices}
    return entry


def _find(view: JobView, number: int) -> CheckpointView:
    statistics = view.checkpoints
    latest = (statistics.last_checkpoint, statistics.last_savepoint, statistics.last_failed)
    checkpoint = next((each for each in (*statistics.history, *latest) if each is not None and each.id == number), None)
    if checkpoint is None:
        raise RestError(404, f"Could not find checkpoint {number} of job {view.job_id}; the last ones are kept")
    return checkpoint


def _slots_of(vertex: VertexView, checkpoint: CheckpointView) -> list[tuple[int, SlotSnapshotView]]:
    """The slots in which a vertex has subtasks; what a slot writes is of all its subtasks together."""
    by_slot = {each.slot: each for each in checkpoint.slots}
    return [(each.subtask, by_slot[each.slot]) for each in vertex.subtasks if each.slot in by_slot]


def _task_entry(vertex: VertexView, checkpoint: CheckpointView) -> dict[str, Any]:
    written = [each for _, each in _slots_of(vertex, checkpoint)]
    is_complete = checkpoint.status == "COMPLETED"
    duration = round(max((each.answered_ms for each in written), default=0.0))
    return {
        "id": checkpoint.id,
        "status": checkpoint.status,
        "latest_ack_timestamp": checkpoint.triggered_ms + duration,
        "checkpointed_size": sum(each.size for each in written),
        "state_size": sum(each.size for each in written),
        "end_to_end_duration": duration,
        "processed_data": sum(each.processed_bytes for each in _alignments_of(vertex, checkpoint).values()),
        "persisted_data": sum(each.in_flight for each in written),
        "num_subtasks": vertex.parallelism,
        "num_acknowledged_subtasks": vertex.parallelism if is_complete else len(written),
    }


def subtask_details(call: Call) -> Any:
    view = call.job.view()
    checkpoint = _find(view, call.path_integer("checkpointid"))
    vertex = find_vertex(view, call.path["vertexid"])
    written = _slots_of(vertex, checkpoint)
    subtasks = [_subtask_entry(checkpoint, vertex, subtask, each) for subtask, each in written]
    return {
        **_task_entry(vertex, checkpoint),
        "summary": {
            "checkpointed_size": statistics_of([each.size for _, each in written]),
            "state_size": statistics_of([each.size for _, each in written]),
            "end_to_end_duration": statistics_of([round(each.answered_ms) for _, each in written]),
            "checkpoint_duration": {
                "sync": statistics_of([round(each.stall_ms) for _, each in written]),
                "async": statistics_of([round(each.write_ms) for _, each in written]),
            },
            "alignment": {
                name: statistics_of([each["alignment"][name] for each in subtasks])
                for name in ("processed", "persisted", "duration")
            },
            "start_delay": statistics_of([each["start_delay"] for each in subtasks]),
        },
        "subtasks": subtasks,
    }


def _alignments_of(vertex: VertexView, checkpoint: CheckpointView) -> dict[int, AlignmentStatistics]:
    """By subtask."""
    all_alignments = (each for slot in checkpoint.slots for each in slot.alignments)
    return {each.subtask: each for each in all_alignments if each.vertex_id == vertex.id}


def _subtask_entry(
    checkpoint: CheckpointView, vertex: VertexView, subtask: int, written: SlotSnapshotView
) -> dict[str, Any]:
    # In epochs there are no barriers: what is not writing and standing still is the way to the slot.
    waited_ms = max(0.0, written.answered_ms - written.write_ms - written.stall_ms)
    no_barriers = AlignmentStatistics(vertex.id, subtask, waited_ms, 0.0, 0)
    alignment = _alignments_of(vertex, checkpoint).get(subtask, no_barriers)
    return {
        "index": subtask,
        "status": "completed",
        "ack_timestamp": checkpoint.triggered_ms + round(written.answered_ms),
        "end_to_end_duration": round(written.answered_ms),
        "checkpointed_size": written.size,
        "state_size": written.size,
        "checkpoint": {
            "sync": round(written.stall_ms),
            "async": round(written.write_ms),
            "unaligned": checkpoint.is_unaligned,
        },
        "alignment": {
            "processed": alignment.processed_bytes,
            "persisted": written.in_flight,
            "duration": round(alignment.duration_ms),
        },
        "start_delay": round(alignment.start_delay_ms),
        "unaligned_checkpoint": checkpoint.is_unaligned,
        "aborted": False,
        "slot": written.slot,
    }


def config(call: Call) -> Any:
    settings = Settings(call.job.view().configuration)
    interval = settings.get(options.CHECKPOINTING_INTERVAL)
    retention = str(settings.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)).upper()
    directory = settings.get(options.CHECKPOINTS_DIRECTORY)
    return {
        "mode": str(settings.get(options.CHECKPOINTING_MODE)).lower(),
        "interval": _NO_LIMIT if interval is None else interval.to_millis(),
        "timeout": settings.get(options.CHECKPOINTING_TIMEOUT).to_millis(),
        "min_pause": settings.get(options.CHECKPOINTING_MIN_PAUSE).to_millis(),
        "max_concurrent": settings.get(options.MAX_CONCURRENT_CHECKPOINTS),
        "externalization": {
            "enabled": "NO_EXTERNALIZED" not in retention,
            "delete_on_cancellation": "RETAIN" not in retention,
        },
        "state_backend": str(settings.get(options.STATE_BACKEND)),
        "checkpoint_storage": settings.get(options.CHECKPOINT_STORAGE) or "filesystem",
        "checkpoint_directory": directory,
        "unaligned_checkpoints": settings.get(options.UNALIGNED_CHECKPOINTS),
        "tolerable_failed_checkpoints": settings.get(options.TOLERABLE_FAILED_CHECKPOINTS),
        "aligned_checkpoint_timeout": settings.get(options.ALIGNED_CHECKPOINT_TIMEOUT).to_millis(),
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": None,
    }


def guarded_config(call: Call) -> Any:
    try:
        return config(call)
    except ConfigurationError as error:  # a job that could not start because of it
        raise RestError(500, str(error)) from error


_SIZES = {
    "checkpointed_size": int,
    "state_size": int,
    "end_to_end_duration": int,
    "processed_data": int,
    "persisted_data": int,
    "num_subtasks": int,
    "num_acknowledged_subtasks": int,
}
_CHECKPOINT = {
    "@class": str,
    "className": str,
    "id": int,
    "status": str,
    "is_savepoint": bool,
    "savepointFormat": Optional(str),
    "trigger_timestamp": int,
    "latest_ack_timestamp": int,
    **_SIZES,
    "checkpoint_type": str,
    "stall_ms": float,
    "tasks": ANY,
    "external_path": Optional(str),
    "discarded": Optional(bool),
    "failure_timestamp": Optional(int),
    "failure_message": Optional(str),
}
_TASK = {"id": int, "status": str, "latest_ack_timestamp": int, **_SIZES}
_SUMMARY = {
    name: STATISTICS_SHAPE
    for name in (
        "checkpointed_size",
        "state_size",
        "end_to_end_duration",
        "processed_data",
        "persisted_data",
    )
}

ROUTES = (
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints",
        checkpoints,
        "Checkpoints of a job",
        {
            "counts": {"restored": int, "total": int, "in_progress": int, "completed": int, "failed": int},
            "summary": _SUMMARY,
            "latest": {
                "completed": Optional(_CHECKPOINT),
                "savepoint": Optional(_CHECKPOINT),
                "failed": Optional(_CHECKPOINT),
                "restored": Optional(
                    {"id": int, "restore_timestamp": int, "is_savepoint": bool, "external_path": Optional(str)}
                ),
            },
            "history": [_CHECKPOINT],
        },
    ),
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints/config",
        guarded_config,
        "How a job takes checkpoints",
        {
            "mode": str,
            "interval": int,
            "timeout": int,
            "min_pause": int,
            "max_concurrent": int,
            "externalization": {"enabled": bool, "delete_on_cancellation": bool},
            "state_backend": str,
            "checkpoint_storage": str,
            "checkpoint_directory": Optional(str),
            "unaligned_checkpoints": bool,
            "tolerable_failed_checkpoints": int,
            "aligned_checkpoint_timeout": int,
            "checkpoints_after_tasks_finish": bool,
            "state_changelog_enabled": bool,
            "changelog_periodic_materialization_interval": int,
            "changelog_storage": Optional(str),
        },
    ),
    Route("GET", "/jobs/{jobid}/checkpoints/details/{checkpointid}", details, "A checkpoint, by vertex", _CHECKPOINT),
    Route(
        "GET",
        "/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}",
        subtask_details,
        "What the slots of a vertex's subtasks wrote; a slot writes the state of all its subtasks together",
        {
            **_TASK,
            "summary": {
                "checkpointed_size": STATISTICS_SHAPE,
                "state_size": STATISTICS_SHAPE,
                "end_to_end_duration": STATISTICS_SHAPE,
                "checkpoint_duration": {"sync": STATISTICS_SHAPE, "async": STATISTICS_SHAPE},
                "alignment": {
                    "processed": STATISTICS_SHAPE,
                    "persisted": STATISTICS_SHAPE,
                    "duration": STATISTICS_SHAPE,
                },
                "start_delay": STATISTICS_SHAPE,
            },
            "subtasks": [
                {
                    "index": int,
                    "status": str,
                    "ack_timestamp": int,
                    "end_to_end_duration": int,
                    "checkpointed_size": int,
                    "state_size": int,
                    "checkpoint": {"sync": int, "async": int, "unaligned": bool},
                    "alignment": {"processed": int, "persisted": int, "duration": int},
                    "start_delay": int,
                    "unaligned_checkpoint": bool,
                    "aborted": bool,
                    "slot": int,
                }
            ],
        },
    ),
)
