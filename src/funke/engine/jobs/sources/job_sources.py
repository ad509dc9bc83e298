"""The sources of a running job: who may read, what each subtask is told, where all of them stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from funke.engine.connectors.feedback import FeedbackEnumerator
from funke.engine.connectors.source import Batch, Split
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.attempts.job_failure import named
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.jobs.sources.source_feed import SourceFeed, SourceState
from funke.engine.jobs.sources.spark_feed import SparkFeed
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.operators.source import ReadOrder, ReadReport
from funke.engine.planner.plan import Plan
from funke.engine.runtime.block_codec import encode
from funke.engine.runtime.checkpoint_order import CheckpointNews
from funke.engine.runtime.spark_input import SparkBatchEnumerator, SparkStreamEnumerator
from funke.engine.runtime.spark_session import JobSpark

__all__ = ["JobSources", "Polled", "create_feed"]

# Each feed with the splits that it has just been given.
Polled = list[tuple[SourceFeed, list[Split]]]


class JobSources:
    """All feeds of a job, with what concerns more than one of them."""

    def __init__(self, feeds: list[SourceFeed]) -> None:
        self.feeds = feeds
        self._by_vertex = {feed.vertex.id: feed for feed in feeds}
        # What circulates in iterations comes back from the slots by way of the driver.
        self._feedback = {
            feed.enumerator.feedback_id: feed.enumerator
            for feed in feeds
            if isinstance(feed.enumerator, FeedbackEnumerator)
        }
        self._others = [feed for feed in feeds if not isinstance(feed.enumerator, FeedbackEnumerator)]
        self._was_input_over = False

    @staticmethod
    def of_plan(plan: Plan, spark: JobSpark, checkpoint: Checkpoint | None, is_streaming: bool) -> Iterator[SourceFeed]:
        """The feeds of a plan, one after the other: whoever makes them closes them."""
        sources = [vertex_id for vertex_id, placement in plan.placements.items() if placement.is_source]
        return (create_feed(plan, vertex_id, spark, checkpoint, is_streaming) for vertex_id in sources)

    @property
    def is_bounded(self) -> bool:
        """Whether all input ends by itself."""
        return all(feed.source.is_bounded for feed in self.feeds)

    @property
    def is_over(self) -> bool:
        """Whether everything has been handed out and read."""
        return all(feed.is_over for feed in self.feeds)

    @property
    def is_input_over(self) -> bool:
        """Whether all that comes from outside has been read, and those who read it know."""
        return all(feed.is_over and feed.has_told_end for feed in self._others)

    @property
    def is_exhausted(self) -> bool:
        """Whether everything has been handed out."""
        return all(feed.enumerator.is_finished for feed in self.feeds)

    @property
    def is_processing_backlog(self) -> bool:
        """Whether any source reads old data just now."""
        return any(feed.enumerator.is_processing_backlog for feed in self.feeds)

    @property
    def has_unfinished(self) -> bool:
        """Whether the last epoch was cut."""
        return any(feed.has_unfinished for feed in self.feeds)

    @property
    def has_end_to_tell(self) -> bool:
        """Whether a source has come to its end and its subtasks do not know yet."""
        return any(feed.has_end_to_tell for feed in self.feeds)

    @property
    def records(self) -> int:
        """How many records were read."""
        return sum(feed.records for feed in self.feeds)

    @property
    def ended_vertices(self) -> set[int]:
        """The sources that have been read to their end, and whose subtasks know."""
        return {feed.vertex.id for feed in self.feeds if feed.is_over and not feed.has_end_to_tell}

    def watermarks(self) -> list[int]:
        """How far event time has come in each source."""
        return [feed.watermark for feed in self.feeds]

    def next_poll_ms(self) -> int:
        """How long to wait before asking again."""
        return min((feed.enumerator.next_poll_ms() for feed in self.feeds), default=50)

    def poll(self, max_records: int) -> Polled:
        """Asks all sources that may read for splits."""
        open_feeds = max(1, sum(not feed.enumerator.is_finished for feed in self.feeds))
        budget = max(1, max_records // open_feeds)
        return [(feed, feed.poll(budget) if self._may_read(feed) else []) for feed in self.feeds]

    def _may_read(self, feed: SourceFeed) -> bool:
        """Not while splits are left over; and with watermark alignment, not when too far ahead of the group."""
        return not feed.has_leftovers and self._is_aligned(feed)

    def _is_aligned(self, feed: SourceFeed) -> bool:
        spec = feed.alignment
        if spec is None or spec.alignment_group is None or spec.alignment_drift_ms is None:
            return True
        group = [
            other.watermark
            for other in self.feeds
            if other.alignment is not None
            and other.alignment.alignment_group == spec.alignment_group
            and not other.enumerator.is_finished
        ]
        return not group or feed.watermark <= min(group) + spec.alignment_drift_ms

    def new_limits(self) -> Iterator[tuple[int, ReadOrder]]:
        """Slots, with how far event time may go in their sources, where that has changed."""
        for feed in self.feeds:
            limit = self._limit_of(feed)
            if limit is not None and limit != feed.told_limit:
                feed.told_limit = limit
                for subtask in range(feed.vertex.parallelism):
                    order = ReadOrder(feed.vertex.id, subtask, watermark_limit=limit)
                    yield feed.first_slot + subtask, order

    def _limit_of(self, feed: SourceFeed) -> int | None:
        """With watermark alignment: the lowest watermark of the group and as much as may be between them."""
        spec = feed.alignment
        if spec is None or spec.alignment_group is None or spec.alignment_drift_ms is None:
            return None
        group = [
            other
            for other in self.feeds
            if other.alignment is not None
            and other.alignment.alignment_group == spec.alignment_group
            and other.watermarks
            and not other.is_over
        ]
        # Whoever is alone has nobody to wait for.
        if sum(other.vertex.parallelism for other in group) < 2:
            return MAX_WATERMARK
        return min(other.watermark for other in group) + spec.alignment_drift_ms

    def poll_hungry(self, max_records: int) -> Polled:
        """Asks the sources of subtasks with little left to read; only those that have something are named."""
        found = []
        for feed in self.feeds:
            if not feed.enumerator.is_finished and feed.is_hungry and self._is_aligned(feed):
                splits = feed.poll(max_records)
                if splits:
                    found.append((feed, splits))
        return found

    def new_orders(self, polled: Polled, is_first: bool) -> Iterator[tuple[int, ReadOrder]]:
        """Slots, with what their sources are told: splits, and that there will be no more."""
        splits_of = {id(feed): splits for feed, splits in polled}
        for feed in self.feeds:
            is_end = feed.enumerator.is_finished and not feed.has_told_end
            splits = splits_of.get(id(feed), [])
            if splits or is_first or is_end:
                for order in feed.orders(splits):
                    if order.splits or is_first or is_end:
                        yield feed.first_slot + order.subtask, order

    def ms_until_poll(self) -> int | None:
        """When to ask again; None if nobody has anything to say, or everybody has enough."""
        waits = [
            feed.enumerator.next_poll_ms() for feed in self.feeds if not feed.enumerator.is_finished and feed.is_hungry
        ]
        return min(waits, default=None)

    def wake_with(self, wake: Callable[[], None]) -> None:
        """Who is to be told when a source has something, rather than to ask."""
        for feed in self.feeds:
            feed.enumerator.wake = wake

    def begin_cut(self) -> None:
        """Barriers are on their way."""
        for feed in self.feeds:
            feed.begin_cut()

    def cut(self, vertex_id: int, subtask: int, report: ReadReport) -> bool:
        """A subtask has sent its barrier; whether all have."""
        self._by_vertex[vertex_id].cut(subtask, report)
        return all(feed.is_cut for feed in self.feeds)

    def end_cut(self) -> None:
        """The sources were written down."""
        for feed in self.feeds:
            feed.end_cut()

    def orders(self, polled: Polled, deadline_ms: int | None) -> list[ReadOrder]:
        """What an epoch tells the subtasks of all sources."""
        self._was_input_over = all(feed.is_over for feed in self._others)
        return [order for feed, splits in polled for order in feed.orders(splits, deadline_ms)]

    def frames(self) -> Mapping[int, Any]:
        """By vertex: the DataFrame whose rows the epoch reads."""
        fed = [feed for feed in self.feeds if isinstance(feed, SparkFeed)]
        return {feed.vertex.id: feed.frame for feed in fed if feed.frame is not None}

    def accept(self, vertex_id: int, subtask: int, report: ReadReport) -> None:
        """Takes what a subtask has read."""
        self._by_vertex[vertex_id].accept(subtask, report)

    def take_feedback(self, feedback_id: str, batch: Batch) -> None:
        """Takes records that came back to the head of an iteration."""
        self._feedback[feedback_id].offer(batch)

    def end_epoch(self) -> None:
        """An epoch has ended, with all that has come back in it."""
        for enumerator in self._feedback.values():
            enumerator.end_round(self._was_input_over)

    def learn(self, news: CheckpointNews) -> None:
        """Tells the sources what became of checkpoints."""
        for feed in self.feeds:
            for checkpoint_id in news.completed:
                feed.enumerator.notify_checkpoint_complete(checkpoint_id)
            for checkpoint_id in news.aborted:
                feed.enumerator.notify_checkpoint_aborted(checkpoint_id)

    def snapshot(self, checkpoint_id: int) -> dict[str, bytes]:
        """Where all sources stand in a checkpoint, by operator id."""
        for feed in self.feeds:
            feed.enumerator.note(checkpoint_id)
        return {feed.operator_id: encode(feed.snapshot()) for feed in self.feeds}


def create_feed(
    plan: Plan, vertex_id: int, spark: JobSpark, checkpoint: Checkpoint | None, is_streaming: bool = False
) -> SourceFeed:
    """The feed of one source; one that the checkpoint does not know begins at its beginning."""
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
        feed: SourceFeed = SparkFeed(vertex, first_slot, source, frames, watermarks)
    else:
        live = source.create_live_enumerator() if is_streaming else None
        enumerator = live or named(head, source.create_enumerator)(vertex.parallelism, position)
        feed = SourceFeed(vertex, first_slot, source, enumerator, watermarks)
    if state is not None:
        feed.restore(state)
    return feed


def _restored(checkpoint: Checkpoint | None, operator_id: str) -> SourceState | None:
    state: SourceState | None = None if checkpoint is None else checkpoint.source(operator_id)
    if state is None or checkpoint is None or not checkpoint.is_drained:
        return state
    # Event time had been advanced to its end on purpose: whoever goes on from there begins it anew.
    return replace(state, watermark=MIN_WATERMARK)
