"""The driver's part of a job attempt and its state, the same for streams and epochs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from funke.engine.jobs.attempts.job_executions import JobExecutions
from funke.engine.jobs.attempts.job_failure import failure_of
from funke.engine.jobs.attempts.region_failover import RegionFailover
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CommitAll
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.jobs.views.job_view import HeldView
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.planner.plan import Plan
from funke.engine.runtime.epochs.results import Failure, SubtaskReport
from funke.engine.types.driver_messages import CollectedRecords

__all__ = ["Attempt", "JobStatistics", "raise_failure"]


@dataclass(frozen=True)
class Attempt:
    """The parts that a coordinator brings together."""

    plan: Plan
    sources: JobSources
    checkpoint_coordinator: CheckpointCoordinator
    commit: CommitAll
    collect: Callable[[CollectedRecords], None]
    executions: JobExecutions
    first_epoch: int = 0
    # What restarts the regions of a job alone, where it has several.
    failover: RegionFailover | None = None


@dataclass
class JobStatistics:
    """What is known about a running job."""

    records_read: int = 0
    epochs: int = 0
    subtasks: dict[tuple[int, int], SubtaskReport] = field(default_factory=dict)
    # How far event time has come in the sources, which counts where nothing is behind them.
    source_watermarks: Callable[[], list[int]] = list
    epoch_ms: deque[float] = field(default_factory=lambda: deque(maxlen=200))
    # Subtasks that keep their slots from everything else.
    held: tuple[HeldView, ...] = ()

    @property
    def watermark(self) -> int:
        """How far event time has come everywhere; of thousands of subtasks not to be asked for with every report."""
        reports = list(self.subtasks.values())
        if not reports:
            return MIN_WATERMARK
        marks = [report.watermark for report in reports if report.reading is None]
        return min(marks or self.source_watermarks(), default=MAX_WATERMARK)

    @property
    def has_unfinished(self) -> bool:
        """Whether slots still work on records of earlier epochs."""
        return any(report.has_unfinished for report in self.subtasks.values())


def raise_failure(results: list[Any]) -> None:
    """Raises what the slots report as failed, if anything."""
    failures = [result for result in results if isinstance(result, Failure)]
    if failures:
        raise failure_of(failures)
