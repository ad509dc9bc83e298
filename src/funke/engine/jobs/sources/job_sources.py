"""The sources of a running job: which may read, the commands for each subtask, and their positions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from funke.engine.connectors.feedback import FeedbackEnumerator
from funke.engine.connectors.source import Batch, Split
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.attempts.job_failure import named
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator, SourceState
from funke.engine.jobs.sources.spark_source_coordinator import SparkSourceCoordinator
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.operators.source import ReadCommand, ReadReport
from funke.engine.planner.plan import Plan
from funke.engine.runtime.blocks.block_codec import encode
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointNotifications
from funke.engine.runtime.spark.spark_input import SparkBatchEnumerator, SparkStreamEnumerator
from funke.engine.runtime.spark.spark_session import JobSpark

__all__ = ["JobSources", "Polled", "create_coordinator"]

# Each source coordinator with the splits that it has just been given.
Polled = list[tuple[SourceCoordinator, list[Split]]]


class JobSources:
    """All source coordinators of a job, with what concerns more than one of them."""

    def __init__(self, coordinators: list[SourceCoordinator]) -> None:
        self.coordinators = coordinators
        # What circulates in iterations comes back from the slots by way of the driver.
        self._feedback = {
            coordinator.enumerator.feedback_id: coordinator.enumerator
            for coordinator in coordinators
            if isinstance(coordinator.enumerator, FeedbackEnumerator)
        }
        self._was_input_over = False

    def leave(self, vertices: Collection[int]) -> list[SourceCoordinator]:
        """The source coordinators of a region that has failed, which are none of the job's any more."""
        gone = [each for each in self.coordinators if each.vertex.id in vertices]
        self.coordinators = [each for each in self.coordinators if each.vertex.id not in vertices]
        return gone

    def join(self, coordinators: list[SourceCoordinator]) -> None:
        """A region has new ones."""
        self.coordinators = [*self.coordinators, *coordinators]

    def close(self) -> None:
        """Releases what the enumerators hold."""
        for coordinator in self.coordinators:
            coordinator.enumerator.close()

    def _of_vertex(self, vertex_id: int) -> SourceCoordinator:
        return next(each for each in self.coordinators if each.vertex.id == vertex_id)

    @property
    def _others(self) -> list[SourceCoordinator]:
        return [each for each in self.coordinators if not isinstance(each.enumerator, FeedbackEnumerator)]

    @staticmethod
    def of_plan(
        plan: Plan,
        spark: JobSpark,
        checkpoint: Checkpoint | None,
        is_streaming: bool,
        vertices: Collection[int] | None = None,
    ) -> Iterator[SourceCoordinator]:
        """The source coordinators of a plan, or of some of its vertices, in a row: the caller closes them."""
        vertex_ids = plan.placements if vertices is None else vertices
        sources = [vertex_id for vertex_id in vertex_ids if plan.placements[vertex_id].is_source]
        return (create_coordinator(plan, vertex_id, spark, checkpoint, is_streaming) for vertex_id in sources)

    @property
    def is_bounded(self) -> bool:
        """Whether all input ends by itself."""
        return all(coordinator.source.is_bounded for coordinator in self.coordinators)

    @property
    def is_over(self) -> bool:
        """Whether everything has been handed out and read."""
        return all(coordinator.is_over for coordinator in self.coordinators)

    @property
    def is_input_over(self) -> bool:
        """Whether all that comes from outside has been read, and those who read it know."""
        return all(coordinator.is_over and coordinator.has_declared_end for coordinator in self._others)

    @property
    def is_exhausted(self) -> bool:
        """Whether everything has been handed out."""
        return all(coordinator.enumerator.is_finished for coordinator in self.coordinators)

    @property
    def is_processing_backlog(self) -> bool:
        """Whether any source reads old data just now."""
        return any(coordinator.enumerator.is_processing_backlog for coordinator in self.coordinators)

    @property
    def has_unfinished(self) -> bool:
        """Whether the last epoch was cut."""
        return any(coordinator.has_unfinished for coordinator in self.coordinators)

    @property
    def has_end_to_tell(self) -> bool:
        """Whether a source has come to its end and its subtasks do not know yet."""
        return any(coordinator.has_end_to_tell for coordinator in self.coordinators)

    @property
    def records(self) -> int:
        """How many records were read."""
        return sum(coordinator.records for coordinator in self.coordinators)

    @property
    def ended_vertices(self) -> set[int]:
        """The sources that have been read to their end, and whose subtasks know."""
        return {
            coordinator.vertex.id
            for coordinator in self.coordinators
            if coordinator.is_over and not coordinator.has_end_to_tell
        }

    def watermarks(self) -> list[int]:
        """How far event time has come in each source."""
        return [coordinator.watermark for coordinator in self.coordinators]

    def next_poll_ms(self) -> int:
        """How long to wait before asking again."""
        return min((coordinator.enumerator.next_poll_ms() for coordinator in self.coordinators), default=50)

    def poll(self, max_records: int) -> Polled:
        """Asks all sources that may read for splits."""
        open_sources = max(1, sum(not coordinator.enumerator.is_finished for coordinator in self.coordinators))
        budget = max(1, max_records // open_sources)
        return [
            (coordinator, coordinator.poll(budget) if self._may_read(coordinator) else [])
            for coordinator in self.coordinators
        ]

    def _may_read(self, coordinator: SourceCoordinator) -> bool:
        """Not while splits are left over; and with watermark alignment, not when too far ahead of the group."""
        return not coordinator.has_leftovers and self._is_aligned(coordinator)

    def _is_aligned(self, coordinator: SourceCoordinator) -> bool:
        spec = coordinator.alignment
        if spec is None or spec.alignment_group is None or spec.alignment_drift_ms is None:
            return True
        group = [
            other.watermark
            for other in self.coordinators
            if other.alignment is not None
            and other.alignment.alignment_group == spec.alignment_group
            and not other.enumerator.is_finished
        ]
        return not group or coordinator.watermark <= min(group) + spec.alignment_drift_ms

    def new_limits(self) -> Iterator[tuple[int, ReadCommand]]:
        """Slots, with how far event time may go in their sources, where that has changed."""
        for coordinator in self.coordinators:
            limit = self._limit_of(coordinator)
            if limit is not None and limit != coordinator.reported_limit:
                coordinator.reported_limit = limit
                for subtask in range(coordinator.vertex.parallelism):
                    command = ReadCommand(coordinator.vertex.id, subtask, watermark_limit=limit)
                    yield coordinator.first_slot + subtask, command

    def _limit_of(self, coordinator: SourceCoordinator) -> int | None:
        """With watermark alignment: the lowest watermark of the group and as much as may be between them."""
        spec = coordinator.alignment
        if spec is None or spec.alignment_group is None or spec.alignment_drift_ms is None:
            return None
        group = [
            other
            for other in self.coordinators
            if other.alignment is not None
            and other.alignment.alignment_group == spec.alignment_group
            and other.watermarks
            and not other.is_over
        ]
        # A source that is alone does not wait.
        if sum(other.vertex.parallelism for other in group) < 2:
            return MAX_WATERMARK
        return min(other.watermark for other in group) + spec.alignment_drift_ms

    def poll_hungry(self, max_records: int) -> Polled:
        """Asks the sources of subtasks with little left to read; only those that have something are named."""
        polled = []
        for coordinator in self.coordinators:
            if not coordinator.enumerator.is_finished and coordinator.is_hungry and self._is_aligned(coordinator):
                splits = coordinator.poll(max_records)
                if splits:
                    polled.append((coordinator, splits))
        return polled

    def new_commands(self, polled: Polled, is_first: bool) -> Iterator[tuple[int, ReadCommand]]:
        """Slots with the commands for their sources: splits, and the end of splits."""
        splits_of = {id(coordinator): splits for coordinator, splits in polled}
        for coordinator in self.coordinators:
            is_end = coordinator.enumerator.is_finished and not coordinator.has_declared_end
            splits = splits_of.get(id(coordinator), [])
            if splits or is_first or is_end:
                for command in coordinator.commands(splits):
                    if command.splits or is_first or is_end:
                        yield coordinator.first_slot + command.subtask, command

    def ms_until_poll(self) -> int | None:
        """When to ask again; None if no source has news, or all readers have enough."""
        waits = [
            coordinator.enumerator.next_poll_ms()
            for coordinator in self.coordinators
            if not coordinator.enumerator.is_finished and coordinator.is_hungry
        ]
        return min(waits, default=None)

    def wake_with(self, wake: Callable[[], None]) -> None:
        """Called when a source has something, instead of polling."""
        for coordinator in self.coordinators:
            coordinator.enumerator.wake = wake

    def begin_cut(self) -> None:
        """Barriers are on their way."""
        for coordinator in self.coordinators:
            coordinator.begin_cut()

    def cut(self, vertex_id: int, subtask: int, report: ReadReport) -> bool:
        """A subtask has sent its barrier; whether all have."""
        self._of_vertex(vertex_id).cut(subtask, report)
        return all(coordinator.is_cut for coordinator in self.coordinators)

    def end_cut(self) -> None:
        """The sources were written down."""
        for coordinator in self.coordinators:
            coordinator.end_cut()

    def commands(self, polled: Polled, deadline_ms: int | None) -> list[ReadCommand]:
        """What an epoch tells the subtasks of all sources."""
        self._was_input_over = all(coordinator.is_over for coordinator in self._others)
        return [command for coordinator, splits in polled for command in coordinator.commands(splits, deadline_ms)]

    def frames(self) -> Mapping[int, Any]:
        """By vertex: the DataFrame whose rows the epoch reads."""
        fed = [coordinator for coordinator in self.coordinators if isinstance(coordinator, SparkSourceCoordinator)]
        return {coordinator.vertex.id: coordinator.frame for coordinator in fed if coordinator.frame is not None}

    def accept(self, vertex_id: int, subtask: int, report: ReadReport) -> None:
        """Takes what a subtask has read."""
        self._of_vertex(vertex_id).accept(subtask, report)

    def take_feedback(self, feedback_id: str, batch: Batch) -> None:
        """Takes records that came back to the head of an iteration."""
        self._feedback[feedback_id].offer(batch)

    def end_epoch(self) -> None:
        """An epoch has ended, with all that has come back in it."""
        for enumerator in self._feedback.values():
            enumerator.end_round(self._was_input_over)

    def learn(self, notifications: CheckpointNotifications) -> None:
        """Tells the sources what became of checkpoints."""
        for coordinator in self.coordinators:
            for checkpoint_id in notifications.completed:
                coordinator.enumerator.notify_checkpoint_complete(checkpoint_id)
            for checkpoint_id in notifications.aborted:
                coordinator.enumerator.notify_checkpoint_aborted(checkpoint_id)

    def snapshot(self, checkpoint_id: int) -> dict[str, bytes]:
        """Where all sources stand in a checkpoint, by operator id."""
        for coordinator in self.coordinators:
            coordinator.enumerator.note(checkpoint_id)
        return {coordinator.operator_id: encode(coordinator.snapshot()) for coordinator in self.coordinators}


def create_coordinator(
    plan: Plan, vertex_id: int, spark: JobSpark, checkpoint: Checkpoint | None, is_streaming: bool = False
) -> SourceCoordinator:
    """The coordinator of one source; one that the checkpoint does not know begins at its beginning."""
    vertex, first_slot = plan.by_id[vertex_id], plan.placements[vertex_id].first_slot
    head = vertex.operators[0]
    operation = head.operation
    assert isinstance(operation, ReadSource)
    source, watermarks = operation.source, operation.watermarks
    state = _restored(checkpoint, head.operator_id)
    position = state.position if state is not None else None
    if source.is_spark:
        enumerate_frames = SparkBatchEnumerator if source.is_bounded else SparkStreamEnumerator
        frames = named(head, enumerate_frames)(source, spark.session, position)
        coordinator: SourceCoordinator = SparkSourceCoordinator(vertex, first_slot, source, frames, watermarks)
    else:
        live = source.create_live_enumerator() if is_streaming else None
        enumerator = live or named(head, source.create_enumerator)(vertex.parallelism, position)
        coordinator = SourceCoordinator(vertex, first_slot, source, enumerator, watermarks)
    if state is not None:
        coordinator.restore(state)
    return coordinator


def _restored(checkpoint: Checkpoint | None, operator_id: str) -> SourceState | None:
    state: SourceState | None = None if checkpoint is None else checkpoint.source(operator_id)
    if state is None or checkpoint is None or not checkpoint.is_drained:
        return state
    # Event time had been advanced to its end on purpose: a job that resumes from there begins it anew.
    return replace(state, watermark=MIN_WATERMARK)
