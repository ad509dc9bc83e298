"""What runs an attempt: slots that stream until the job ends, or a row of Spark jobs, one for each epoch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from funke.engine.jobs.attempts.epoch_coordinator import EpochCoordinator
from funke.engine.jobs.attempts.epoch_watch import EpochWatch
from funke.engine.jobs.attempts.job_sinks import epoch_writers
from funke.engine.jobs.attempts.slot_pool import request_timeout_s
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.runtime.epochs.epoch_holders import epoch_holders
from funke.engine.runtime.epochs.epoch_runner import EpochRunner
from funke.engine.runtime.pipelined.stream_runner import StreamRunner

if TYPE_CHECKING:
    from funke.engine.jobs.attempts.attempt import Attempt
    from funke.engine.jobs.submission.job_planning import PlannedJob
    from funke.engine.runtime.slots.worker_setup import JobPackage
    from funke.engine.runtime.spark.spark_session import JobSpark

__all__ = ["Coordinator", "Runner", "driven_by"]

Runner: TypeAlias = EpochRunner | StreamRunner
Coordinator: TypeAlias = EpochCoordinator | StreamCoordinator


def driven_by(
    attempt: Attempt,
    spark: JobSpark,
    planned: PlannedJob,
    package: JobPackage,
    hosts: dict[int, str] | None,
    write_frames: Callable[[EpochRunner], None],
) -> tuple[Runner, Coordinator]:
    """The runner of an attempt's slots and its coordinator; `hosts` are those where the slots should be."""
    request_s = request_timeout_s(planned.configured)
    if planned.mode.is_pipelined:
        streaming = StreamRunner(spark, planned.plan, package, hosts, request_s)
        return streaming, StreamCoordinator(attempt, streaming)
    runner = EpochRunner(spark, planned.plan, package, hosts, request_s)
    holders = partial(epoch_holders, spark, planned.plan, package.key)
    watch = EpochWatch(
        partial(planned.checkpoint_coordinator.expire, holders),
        runner.cancel,
        planned.checkpoint_coordinator.settings.timeout_ms,
    )
    writers = epoch_writers(planned.graph, spark)
    interval_ms = planned.settings.buffer_timeout_ms
    return runner, EpochCoordinator(attempt, runner, writers, interval_ms, watch, partial(write_frames, runner))
