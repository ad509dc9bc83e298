"""What happened to a job, for the time axis of its charts: starts, failures, restarts, checkpoints, savepoints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from funke.engine.jobs.views.job_view import JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.history.points import Point

__all__ = ["Marker", "markers_of"]


@dataclass(frozen=True)
class Marker:
    """Something that happened."""

    at_ms: int
    # deployed, failed, restarted, checkpoint, savepoint, ended
    kind: str
    text: str


def markers_of(view: JobView, points: Sequence[Point]) -> list[Marker]:
    """In the order of time."""
    markers = [*_statuses(view), *_checkpoints(view, points)]
    return sorted(markers, key=lambda each: each.at_ms)


def _statuses(view: JobView) -> Iterator[Marker]:
    before: JobStatus | None = None
    for entry in view.status_history:
        if entry.status is JobStatus.RUNNING:
            has_failed = before is JobStatus.RESTARTING
            yield Marker(entry.since_ms, "restarted" if has_failed else "deployed", _began(view, has_failed))
        elif entry.status is JobStatus.FAILING:
            yield Marker(entry.since_ms, "failed", "failed")
        elif entry.status.is_globally_terminal_state():
            yield Marker(entry.since_ms, "ended", entry.status.name.lower())
        if entry.status not in (JobStatus.CREATED, JobStatus.RUNNING):
            before = entry.status
        elif entry.status is JobStatus.RUNNING:
            before = None


def _began(view: JobView, has_failed: bool) -> str:
    restored = view.checkpoints.last_restored
    if has_failed:
        return "running again"
    return f"deployed, from {restored.kind} {restored.id}" if restored is not None else "deployed"


def _checkpoints(view: JobView, points: Sequence[Point]) -> Iterator[Marker]:
    """The view knows when the last ten were complete; of earlier ones it is known between which points."""
    ended = [each for each in view.checkpoints.history if each.status in ("COMPLETED", "FAILED")]
    for each in ended:
        kind = each.kind if each.status == "COMPLETED" else "failed checkpoint"
        yield Marker(each.triggered_ms + round(each.duration_ms), kind, f"{kind} {each.id}")
    first_ms = min((each.triggered_ms for each in ended), default=0)
    for before, after in itertools.pairwise(points):
        if after.value("checkpoints") > before.value("checkpoints") and after.at_ms < first_ms:
            yield Marker(after.at_ms, "checkpoint", "checkpoint")
