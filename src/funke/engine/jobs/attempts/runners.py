"""What runs an attempt: slots that stream until the job ends, or a row of Spark jobs, one for each epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from funke.engine.jobs.attempts.epoch_coordinator import EpochCoordinator
from funke.engine.jobs.attempts.epoch_watch import EpochWatch
from funke.engine.jobs.attempts.job_sinks import epoch_writers
from funke.engine.jobs.attempts.region_failover import RegionFailover, RegionRestarts
from funke.engine.jobs.attempts.slot_pool import request_timeout_s
from funke.engine.jobs.attempts.stream_coordinator import StreamCoordinator
from funke.engine.runtime.epochs.epoch_blockers import epoch_blockers
from funke.engine.runtime.epochs.epoch_runner import EpochRunner
from funke.engine.runtime.pipelined.region_runners import RegionRunners
from funke.engine.runtime.pipelined.stream_runner import StreamRunner
from funke.engine.runtime.spark.spark_session import is_embedded
from funke.engine.runtime.spark.spark_tasks import await_task_slots

if TYPE_CHECKING:
    from funke.engine.jobs.attempts.attempt import Attempt
    from funke.engine.jobs.submission.job_planning import PlannedJob
    from funke.engine.planner.regions import Region
    from funke.engine.runtime.slots.worker_setup import JobDeployment
    from funke.engine.runtime.spark.spark_session import JobSpark

__all__ = ["Coordinator", "Runner", "driven_by"]

# The places of a region that restarts may be gone with their executor: then all of the job has to share what is left.
_LONGEST_REQUEST_S = 30.0

Runner: TypeAlias = EpochRunner | StreamRunner | RegionRunners
Coordinator: TypeAlias = EpochCoordinator | StreamCoordinator


def driven_by(
    attempt: Attempt,
    spark: JobSpark,
    planned: PlannedJob,
    deployment: JobDeployment,
    hosts: dict[int, str] | None,
    write_frames: Callable[[EpochRunner], None],
    restarts: RegionRestarts,
) -> tuple[Runner, Coordinator]:
    """The runner of an attempt's slots and its coordinator; `hosts` are those where the slots should be."""
    request_s = request_timeout_s(planned.configured)
    if planned.mode.is_pipelined:
        return _streamed(attempt, spark, planned, deployment, hosts, restarts)
    runner = EpochRunner(spark, planned.plan, deployment, hosts, request_s)
    blockers = partial(epoch_blockers, spark, planned.plan, deployment.key)
    epoch_watch = EpochWatch(
        partial(planned.checkpoint_coordinator.expire, blockers),
        runner.cancel,
        planned.checkpoint_coordinator.settings.timeout_ms,
    )
    writers = epoch_writers(planned.graph, spark)
    interval_ms = planned.settings.buffer_timeout_ms
    return runner, EpochCoordinator(attempt, runner, writers, interval_ms, epoch_watch, partial(write_frames, runner))


def _streamed(
    attempt: Attempt,
    spark: JobSpark,
    planned: PlannedJob,
    deployment: JobDeployment,
    hosts: dict[int, str] | None,
    restarts: RegionRestarts,
) -> tuple[Runner, Coordinator]:
    plan, request_s = planned.plan, request_timeout_s(planned.configured)
    task_slots = None
    if len(plan.regions) > 1 and not is_embedded(spark):
        task_slots = await_task_slots(spark.sparkContext, plan.slots, deployment.attempt > 0, request_s)
    # Each region needs a task of its own, as long as the job runs.
    if len(plan.regions) == 1 or (task_slots is not None and task_slots < len(plan.regions)):
        runner = StreamRunner(spark, plan, deployment, hosts, request_s, task_slots=task_slots)
        return runner, StreamCoordinator(attempt, runner)
    runners = RegionRunners(
        plan.regions, lambda region: StreamRunner(spark, plan, deployment, hosts, request_s, region, task_slots)
    )

    def create_runner(region: Region, deployment: JobDeployment, hosts: dict[int, str]) -> StreamRunner:
        preferred_hosts = hosts if deployment.local_folders else None
        return StreamRunner(spark, plan, deployment, preferred_hosts, min(request_s, _LONGEST_REQUEST_S), region)

    failover = RegionFailover(plan, runners, attempt.executions, restarts, create_runner)
    return runners, StreamCoordinator(replace(attempt, failover=failover), runners)
