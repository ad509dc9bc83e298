"""The sinks of a job in the driver: what commits, and what writes with Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.committing import SinkCommits
from funke.engine.connectors.sink import Committer
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.connectors.staging import DamagedStagedDataError, StagedData
from funke.engine.errors import JobExecutionError, StateError
from funke.engine.graph.job_graph import ChainedOperator, JobGraph
from funke.engine.graph.operations import WriteSink
from funke.engine.jobs.attempts.attempt import raise_failure
from funke.engine.jobs.attempts.job_failure import DamagedCheckpointError, named
from funke.engine.jobs.attempts.message_delivery import EpochWriter
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, is_committed, verify_content
from funke.engine.runtime.blocks.block_codec import decode
from funke.engine.runtime.epochs.epoch_runner import EpochRunner
from funke.engine.runtime.fault_points import reach
from funke.engine.runtime.spark.spark_session import JobSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FrameWrites", "JobCommits", "epoch_writers"]


class JobCommits:
    """Commits for all sinks of a job; a failure names the sink."""

    def __init__(self, graph: JobGraph, session: Callable[[], SparkSession], retries: int) -> None:
        operators = [(operator, _committer_of(sink, session)) for operator, sink in _sinks(graph)]
        committers = {operator.operator_id: committer for operator, committer in operators if committer is not None}
        self._operators = {operator.operator_id: operator for operator, _ in operators}
        # Names of sinks whose output, once committed, stays.
        self.committing = tuple(sorted(self._operators[operator_id].name for operator_id in committers))
        self._commits = SinkCommits(committers, retries)

    def commit(self, epoch: int, committables: dict[str, list[Any]]) -> None:
        """Makes visible what was prepared up to an epoch."""
        for number, (operator_id, items) in enumerate(committables.items()):
            if number > 0:
                reach("between-commits")
            named(self._operators[operator_id], self._commits.commit)(epoch, {operator_id: items})

    def verify(self, checkpoint: Checkpoint) -> None:
        """Reads what `recover` would commit, and the state that the job would go on with.

        StateError when it is not as it was written: of a damaged checkpoint nothing is committed.
        """
        if not checkpoint.committables or is_committed(checkpoint):
            return
        verify_content(checkpoint)
        staged = (item for content in checkpoint.committables.values() for item in decode(content))
        for item in staged:
            if isinstance(item, StagedData) and item.is_there:
                try:
                    deque(item.chunks(), maxlen=0)
                except DamagedStagedDataError as error:
                    raise StateError(f"'{checkpoint.path}' is damaged: {error}") from error

    def recover(self, checkpoint: Checkpoint) -> None:
        """Commits a checkpoint's committables again, since the progress is unknown; removed sinks are left out."""
        if is_committed(checkpoint):
            return
        for operator_id, content in checkpoint.committables.items():
            if operator_id in self._operators:
                items = {operator_id: decode(content)}
                try:
                    named(self._operators[operator_id], self._commits.recover)(checkpoint.epoch, items)
                except JobExecutionError as error:
                    if isinstance(error.__cause__, DamagedStagedDataError):
                        raise DamagedCheckpointError(f"'{checkpoint.path}' is damaged: {error}") from error
                    raise


class FrameWrites:
    """Writes what Spark computes without slots; what has been written is not written again by a later attempt."""

    def __init__(self, graph: JobGraph, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._left = [
            (operator, sink)
            for operator, sink in _sinks(graph)
            if isinstance(sink, SparkSink) and sink.rows is not None
        ]

    def run(self, runner: EpochRunner) -> None:
        """Writes one table after the other."""
        while self._left:
            operator, sink = self._left[0]
            raise_failure(named(operator, runner.write)(partial(sink.write_rows, self._session())))
            del self._left[0]


def epoch_writers(graph: JobGraph, spark: JobSpark) -> dict[str, EpochWriter]:
    """What writes with Spark, by sink."""
    return {
        sink.sink_id: named(operator, partial(sink.write_epoch, spark.session))
        for operator, sink in _sinks(graph)
        if isinstance(sink, SparkSink)
    }


def _committer_of(sink: Any, session: Callable[[], SparkSession]) -> Committer | None:
    committer: Committer | None = (
        sink.committer_with(session) if isinstance(sink, SparkSink) else sink.create_committer()
    )
    return committer


def _sinks(graph: JobGraph) -> Iterator[tuple[ChainedOperator, Any]]:
    """Operator and sink of every sink of the job."""
    for vertex in graph.vertices:
        for operator in vertex.operators:
            if isinstance(operator.operation, WriteSink):
                yield operator, operator.operation.sink
