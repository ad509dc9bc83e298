"""The view of a job, running or ended: one frozen tree, by the ids of vertices and operators."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from funke.engine.errors import JobExecutionError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.back_pressure import PressureView
from funke.engine.operators.patterns.picture import ShownState
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics
from funke.engine.types.job_status import JobStatus

__all__ = [
    "CheckpointView",
    "CheckpointsView",
    "EdgeView",
    "ExceptionView",
    "HeldView",
    "JobView",
    "MetricsView",
    "OperatorView",
    "SlotSnapshotView",
    "StateView",
    "StatementView",
    "StatusEntry",
    "SubtaskView",
    "VertexView",
]

# As many as Flink shows.
_MOST_CHECKPOINTS = 10
_MOST_MESSAGE = 8_000
_FRAME = re.compile(r'^  File "(?P<file>[^"<>]+)", line (?P<line>\d+)', re.MULTILINE)
_LIBRARY = re.compile(r"[/\\](?:(?:site|dist)-packages|lib[/\\]python\d[.\d]*)[/\\]")
_MOST_TRACEBACK = 16_000


@dataclass(frozen=True)
class StatusEntry:
    """A status of the job and when it was entered."""

    status: JobStatus
    since_ms: int


@dataclass(frozen=True)
class OperatorView:
    """An operator of a chain."""

    id: str
    name: str
    uid: str | None = None
    user_line: str | None = None
    # The automaton of one that looks for a pattern.
    pattern: tuple[ShownState, ...] = ()


@dataclass(frozen=True)
class SubtaskView:
    """A subtask in one of its attempts; `entered_ms` tells when it came to each state it has been in."""

    subtask: int
    attempt: int
    state: ExecutionState
    entered_ms: dict[ExecutionState, int] = field(default_factory=dict)
    slot: int | None = None
    host: str | None = None
    # Of one that runs, as far as it is measured: in epochs there is no backpressure.
    pressure: PressureView | None = None

    @property
    def since_ms(self) -> int | None:
        """When it came to its present state."""
        return self.entered_ms.get(self.state)


@dataclass(frozen=True)
class VertexView:
    """A chain of operators and its subtasks; `level` counts the exchanges before it."""

    id: int
    name: str
    operators: tuple[OperatorView, ...]
    parallelism: int
    max_parallelism: int
    slot_sharing_group: str = "default"
    level: int = 0
    subtasks: tuple[SubtaskView, ...] = ()
    # In earlier attempts, oldest first.
    prior: tuple[SubtaskView, ...] = ()
    # Of the subtasks together.
    pressure: PressureView | None = None

    @property
    def state_counts(self) -> Counter[ExecutionState]:
        """How many subtasks are in each state."""
        return Counter(each.state for each in self.subtasks)


@dataclass(frozen=True)
class EdgeView:
    """An exchange between an operator of one vertex and the head of another."""

    source_vertex: int
    source_operator: str
    target_vertex: int
    target_operator: str
    partitioner: str
    side_output: str | None = None


@dataclass(frozen=True)
class MetricsView:
    """Metrics of the job, of tasks by vertex id and subtask, and of operators by operator id and subtask."""

    job: dict[str, Any] = field(default_factory=dict)
    tasks: dict[int, dict[int, dict[str, Any]]] = field(default_factory=dict)
    operators: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class SlotSnapshotView:
    """What a slot did for a checkpoint."""

    slot: int
    write_ms: float
    stall_ms: float
    size: int
    # From the command to its answer; what is more than the writing and the standing still is the barriers' way to it.
    answered_ms: float = 0.0
    # What barriers have overtaken, of the size.
    in_flight: int = 0
    # Of its subtasks.
    alignments: tuple[AlignmentStatistics, ...] = ()


@dataclass(frozen=True)
class CheckpointView:
    """A checkpoint or savepoint that is under way, was completed, has failed, or that the job was restored from."""

    id: int
    kind: str
    status: str
    triggered_ms: int
    duration_ms: float = 0.0
    # What was written for it, and what all its files hold.
    size: int = 0
    full_size: int = 0
    # How long processing stood still.
    stall_ms: float = 0.0
    path: str = ""
    failure: str = ""
    slots: tuple[SlotSnapshotView, ...] = ()
    # Whether barriers overtook what was on its way.
    is_unaligned: bool = False

    @property
    def in_flight(self) -> int:
        """Bytes that barriers have overtaken."""
        return sum(each.in_flight for each in self.slots)

    @property
    def processed_bytes(self) -> int:
        """Bytes that subtasks took between their first barrier and their last."""
        return sum(each.processed_bytes for slot in self.slots for each in slot.alignments)


@dataclass(frozen=True)
class StateView:
    """What an operator remembers under one name, in all its subtasks; bytes as they stand in a checkpoint."""

    operator_id: str
    name: str
    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True)
class CheckpointsView:
    """What became of checkpoints; `history` holds the last ones, oldest first."""

    completed: int = 0
    failed: int = 0
    in_progress: int = 0
    restored: int = 0
    # Of those that the job takes by itself.
    last_checkpoint: CheckpointView | None = None
    last_savepoint: CheckpointView | None = None
    last_failed: CheckpointView | None = None
    last_restored: CheckpointView | None = None
    history: tuple[CheckpointView, ...] = ()
    # As of the last one that was completed, of either kind; the largest first.
    states: tuple[StateView, ...] = ()

    @property
    def last_completed(self) -> CheckpointView | None:
        """The last one that was completed, of either kind."""
        completed_views = [each for each in (self.last_checkpoint, self.last_savepoint) if each is not None]
        return max(completed_views, key=lambda each: each.id, default=None)

    @property
    def last_failure(self) -> str:
        """What was wrong with the last one that failed."""
        return self.last_failed.failure if self.last_failed is not None else ""

    def with_completed(self, view: CheckpointView) -> CheckpointsView:
        """One more is complete."""
        counted = replace(self, completed=self.completed + 1, history=self._history_with(view))
        if view.kind == "savepoint":
            return replace(counted, last_savepoint=view)
        return replace(counted, last_checkpoint=view)

    def with_failed(self, failed: CheckpointView) -> CheckpointsView:
        """One more has failed."""
        return replace(self, failed=self.failed + 1, history=self._history_with(failed), last_failed=failed)

    def with_restored(self, source: CheckpointView) -> CheckpointsView:
        """An attempt starts from one."""
        return replace(self, restored=self.restored + 1, last_restored=source)

    def with_under_way(self, under_way: tuple[CheckpointView, ...]) -> CheckpointsView:
        """Those that have begun are the newest ones."""
        return replace(self, in_progress=len(under_way), history=(*self.history, *under_way))

    def _history_with(self, latest: CheckpointView) -> tuple[CheckpointView, ...]:
        return (*self.history, latest)[-_MOST_CHECKPOINTS:]


@dataclass(frozen=True)
class ExceptionView:
    """One failure of a job: when, in which attempt, where by ids as far as that is known, and what was wrong."""

    timestamp_ms: int
    attempt: int
    message: str
    error_type: str = ""
    traceback: str = ""
    operator: str | None = None
    operator_id: str | None = None
    user_line: str | None = None
    vertex_id: int | None = None
    subtask: int | None = None
    slot: int | None = None
    # At which record, if that may be shown.
    record: str = ""

    @property
    def raising_line(self) -> str | None:
        """The innermost line of the stack that is of no library; our own are not in it."""
        own = [frame for frame in _FRAME.finditer(self.traceback) if not _LIBRARY.search(frame["file"])]
        return f"{own[-1]['file']}:{own[-1]['line']}" if own else None

    @staticmethod
    def of(error: BaseException, attempt: int, timestamp_ms: int) -> ExceptionView:
        """What is to be remembered of an error."""
        text = str(error) or type(error).__name__
        if not isinstance(error, JobExecutionError):
            return ExceptionView(timestamp_ms, attempt, text[:_MOST_MESSAGE], type(error).__name__)
        traceback = (error.user_traceback or "").rstrip()
        return ExceptionView(
            timestamp_ms,
            attempt,
            text.removesuffix(f"\n{traceback}")[:_MOST_MESSAGE],
            error.error_type or type(error).__name__,
            traceback[-_MOST_TRACEBACK:],
            error.operator,
            error.operator_id,
            error.user_line,
            error.vertex_id,
            error.subtask,
            error.slot,
            error.record,
        )


@dataclass(frozen=True)
class HeldView:
    """A subtask that is still busy with one block of records: since when, and at which user line."""

    vertex_id: int
    subtask: int
    since_ms: int
    user_line: str = ""


@dataclass(frozen=True)
class StatementView:
    """A statement that the job was made from, without secrets; empty for calls of the Table API. And its plan."""

    sql: str
    plan: str


@dataclass(frozen=True)
class JobView:
    """A job at one moment."""

    job_id: str
    name: str
    status: JobStatus
    status_history: tuple[StatusEntry, ...] = ()
    started_ms: int = 0
    ended_ms: int | None = None
    attempt: int = 0
    restarts: int = 0
    parallelism: int = 0
    slots: int = 0
    is_batch: bool = False
    vertices: tuple[VertexView, ...] = ()
    edges: tuple[EdgeView, ...] = ()
    metrics: MetricsView = field(default_factory=MetricsView)
    checkpoints: CheckpointsView = field(default_factory=CheckpointsView)
    # The last ones, newest first; and how many there were in all.
    exceptions: tuple[ExceptionView, ...] = ()
    failures: int = 0
    # Secrets are masked.
    configuration: dict[str, str] = field(default_factory=dict)
    # As `get_execution_plan()` returns it.
    plan: str = ""
    statements: tuple[StatementView, ...] = ()
    held: tuple[HeldView, ...] = ()
    # What a job that cannot begin yet waits for.
    waiting_for: str = ""
    # When this was seen.
    seen_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    @property
    def state_counts(self) -> Counter[ExecutionState]:
        """How many subtasks are in each state."""
        return sum((vertex.state_counts for vertex in self.vertices), Counter())
