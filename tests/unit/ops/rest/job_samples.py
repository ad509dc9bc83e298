"""Jobs for tests of the interface: records on disk as drivers write them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.control import ControlServer
from funke.engine.jobs.records.job_record import OwnedRecord
from funke.engine.jobs.records.recovery import ProgramRun
from funke.engine.jobs.settings import JobSettings
from funke.engine.jobs.views.back_pressure import Diagnosis, PressureStatus, PressureView
from funke.engine.jobs.views.flame_graph import FlameGraph
from funke.engine.jobs.views.job_view import (
    CheckpointsView,
    CheckpointView,
    EdgeView,
    ExceptionView,
    JobView,
    MetricsView,
    OperatorView,
    SlotSnapshotView,
    StatusEntry,
    SubtaskView,
    VertexView,
)
from funke.engine.types.job_status import JobStatus
from funke.engine.types.json_form import to_json

SOURCE, MAP = "a" * 32, "b" * 32
CONFIGURATION = {"execution.checkpointing.interval": "1 s", "s3.secret-key": "hidden", "parallelism.default": "2"}
S = ExecutionState


def sample_view(job_id: str, status: JobStatus = JobStatus.RUNNING, **changes: Any) -> JobView:
    """A source that a map with two subtasks holds up."""
    entered = {S.SCHEDULED: 1_000, S.DEPLOYING: 1_100, S.RUNNING: 1_500}
    pressed = PressureView(PressureStatus.HIGH, 0.8, 0.1, 0.0, 1.0, True, Diagnosis.PRESSED)
    slow = PressureView(PressureStatus.OK, 0.0, 0.95, 1.0, 0.0, False, Diagnosis.ROOT)
    source = VertexView(
        1,
        "Source: orders",
        (OperatorView(SOURCE, "Source: orders", "orders", "job.py:3"),),
        1,
        128,
        subtasks=(SubtaskView(0, 0, S.RUNNING, entered, 0, "worker-1", pressed),),
        pressure=pressed,
    )
    doing = VertexView(
        2,
        "Map -> Sink: out",
        (OperatorView(MAP, "Map", None, "job.py:7"), OperatorView("c" * 32, "Sink: out")),
        2,
        128,
        subtasks=(
            SubtaskView(0, 0, S.RUNNING, entered, 0, "worker-1", slow),
            SubtaskView(1, 0, S.RUNNING, entered, 1, "worker-1", slow),
        ),
        prior=(SubtaskView(0, 7, S.FAILED, {S.DEPLOYING: 10, S.FAILED: 30}, 0),),
        pressure=slow,
    )
    done = CheckpointView(
        4,
        "checkpoint",
        "COMPLETED",
        2_000,
        130.0,
        700,
        900,
        5.0,
        "/chk-4",
        slots=(SlotSnapshotView(0, 40.0, 2.0, 300, 90.0),),
    )
    failed = CheckpointView(5, "checkpoint", "FAILED", 3_000, 10.0, failure="too slow")
    saved = CheckpointView(3, "savepoint", "COMPLETED", 1_800, 50.0, 10, 10, 1.0, "/savepoint-3")
    view = JobView(
        job_id,
        "orders",
        status,
        (StatusEntry(JobStatus.CREATED, 900), StatusEntry(JobStatus.RUNNING, 1_500)),
        started_ms=900,
        parallelism=2,
        slots=2,
        vertices=(source, doing),
        edges=(EdgeView(1, SOURCE, 2, MAP, "HASH"),),
        metrics=MetricsView(
            {"numRestarts": 0, "records_read": 10},
            {
                1: {0: {"numBytesOut": 50}},
                2: {
                    0: {"numBytesIn": 30, "busyTimeMsPerSecond": 950.0, "slotMemoryUsed": 2_000},
                    1: {"numBytesIn": 20, "slotMemoryUsed": 3_000},
                },
            },
            {
                SOURCE: {0: {"numRecordsOut": 10}},
                MAP: {
                    0: {
                        "numRecordsIn": 6,
                        "numRecordsOut": 6,
                        "currentInputWatermark": 77,
                        "my.meter": {"count": 3, "rate": 0.5},
                    },
                    1: {"numRecordsIn": 2, "numRecordsOut": 2, "currentInputWatermark": -(2**63)},
                },
                "c" * 32: {0: {"numRecordsIn": 6}, 1: {"numRecordsIn": 2}},
            },
        ),
        checkpoints=CheckpointsView(2, 1, 0, 1, done, saved, failed, saved, (saved, done, failed)),
        exceptions=(ExceptionView(1_200, 0, "it broke", "KeyError", "Traceback", "Map", MAP, "job.py:7", 2, 1),),
        configuration={**CONFIGURATION, "s3.secret-key": "******"},
        plan='{"nodes": []}',
        seen_ms=9_000,
    )
    return replace(view, **changes)


def submit(home: str, configuration: Mapping[str, str] | None = None) -> OwnedRecord:
    """A job that runs, with this process as its driver."""
    configured = {**CONFIGURATION, **(configuration or {}), "funke.home": home}
    admitted = ProgramRun(("python", "job.py"), os.getcwd()).admit(JobSettings("orders", configured))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    admitted.record.put_view(sample_view(admitted.record.job_id))
    admitted.record.put_status(JobStatus.RUNNING)
    return admitted.record


def ended(home: str, status: JobStatus) -> OwnedRecord:
    """A job that has ended."""
    owned = submit(home)
    owned.put_view(sample_view(owned.job_id, status))
    owned.put_status(status)
    owned.release()
    return owned


@contextmanager
def driven(owned: OwnedRecord, view: JobView, asked: list[tuple[str, Any]]) -> Iterator[None]:
    """A driver that shows a view and notes what it is asked."""

    def savepoint(folder: str | None, afterwards: str) -> str:
        asked.append(("savepoint", (folder, afterwards)))
        if folder == "/nowhere":
            raise ValueError("there is no room")
        return f"{folder}/savepoint-1"

    def checkpoint(is_full: bool) -> int:
        asked.append(("checkpoint", is_full))
        if not is_full:
            raise ValueError("there is no room")
        return 7

    def flame_graph(vertex_id: int, kind: str, subtask: int | None) -> Any:
        asked.append(("flame_graph", (vertex_id, kind, subtask)))
        return to_json(FlameGraph(5, {"name": "Map", "value": 1, "children": []}))

    commands = {
        "view": lambda: to_json(view),
        "threads": lambda: {"0": [{"name": "MainThread", "stack": "job.py:7"}], "9": []},
        "cancel": lambda: asked.append(("cancel", None)),
        "savepoint": savepoint,
        "checkpoint": checkpoint,
        "flame_graph": flame_graph,
    }
    server = ControlServer(owned.record.control_path, commands)
    try:
        yield
    finally:
        server.close()
