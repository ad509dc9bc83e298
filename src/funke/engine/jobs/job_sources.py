"""Makes the feeds of a job's sources, at the beginning or where a checkpoint says."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.checkpoints import Checkpoint
from funke.engine.jobs.job_failure import named
from funke.engine.jobs.source_feed import SourceFeed, SourceState
from funke.engine.jobs.spark_feed import SparkFeed
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.planner.segments import Segment
from funke.engine.runtime.spark_input import SparkBatchEnumerator, SparkStreamEnumerator
from funke.engine.runtime.spark_session import JobSpark

__all__ = ["create_feed"]


def create_feed(segment: Segment, spark: JobSpark, checkpoint: Checkpoint | None) -> SourceFeed:
    """The feed of one source; one that the checkpoint does not know begins at its beginning."""
    head = segment.operators[0]
    operation = head.operation
    assert isinstance(operation, ReadSource)
    source, watermarks = operation.source, operation.watermarks
    state = _restored(checkpoint, head.operator_id)
    position = state.position if state is not None else None
    if getattr(source, "is_spark", False):
        enumerate_frames = SparkBatchEnumerator if source.is_bounded else SparkStreamEnumerator
        frames = named(head, enumerate_frames)(source, spark.session, position)
        feed: SourceFeed = SparkFeed(segment, source, frames, watermarks)
    else:
        enumerator = named(head, source.create_enumerator)(segment.parallelism, position)
        feed = SourceFeed(segment, source, enumerator, watermarks)
    if state is not None:
        feed.restore(state)
    return feed


def _restored(checkpoint: Checkpoint | None, operator_id: str) -> SourceState | None:
    state: SourceState | None = None if checkpoint is None else checkpoint.source(operator_id)
    if state is None or checkpoint is None or not checkpoint.is_drained:
        return state
    # Event time had been advanced to its end on purpose: whoever goes on from there begins it anew.
    return replace(state, watermark=MIN_WATERMARK, layout=())
