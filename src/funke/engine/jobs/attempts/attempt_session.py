"""The Spark session of an attempt: room for the job's slots, its files, the paths that its hosts share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from funke.engine.config import flink_options as options
from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.jobs.attempts.slot_limit import require_slots
from funke.engine.jobs.submission.executor_settings import executor_settings
from funke.engine.jobs.submission.job_planning import PlannedJob
from funke.engine.jobs.submission.session_differences import warn_of_other_session
from funke.engine.runtime.job_files.dependencies import distribute
from funke.engine.runtime.job_files.shared_paths import SharedPath, probed
from funke.engine.runtime.slots.worker_setup import JobDeployment
from funke.engine.runtime.snapshots.snapshot_files import local_path
from funke.engine.runtime.spark.spark_session import (
    JobSpark,
    forget_lost_application,
    is_embedded,
    session_settings,
    spark_master,
    started_with,
)

__all__ = ["probed_deployment", "session_of"]


def session_of(planned: PlannedJob, has_run: bool) -> JobSpark:
    """Spark for an attempt of a job, with the job's files; ConfigurationError when it asks for too many slots."""
    if has_run:
        forget_lost_application()
    configuration, configured, slots = planned.settings.configuration, planned.configured, planned.plan.slots
    spark = JobSpark(configuration, executor_settings(configured, spark_master(configuration), slots))
    require_slots(slots, configured, is_embedded(spark))
    if not has_run:
        warn_of_other_session(configured, session_settings(spark), started_with(spark))
    distribute(spark, planned.dependencies, planned.settings.jars)
    return spark


@contextlib.contextmanager
def probed_deployment(planned: PlannedJob, spark: JobSpark, deployment: JobDeployment) -> Iterator[JobDeployment]:
    """While slots start: on a cluster their hosts must see the paths of the job."""
    if is_embedded(spark):
        yield deployment
        return
    with probed(_job_paths(planned)) as paths:
        yield replace(deployment, shared_paths=paths)


def _job_paths(planned: PlannedJob) -> Iterator[SharedPath]:
    """The paths of checkpoints, sources and sinks on a disk, and not in storage with an address of its own."""
    coordinator = planned.checkpoint_coordinator
    if coordinator.is_periodic and (folder := local_path(coordinator.store.folder)) is not None:
        purpose = f"the checkpoint folder ({options.CHECKPOINTS_DIRECTORY.key})"
        yield SharedPath(folder, purpose, is_written=True, is_private=True)
    for vertex in planned.plan.graph.vertices:
        for operator in vertex.operators:
            operation = operator.operation
            if isinstance(operation, ReadSource):
                for path in filter(None, map(local_path, operation.source.paths)):
                    yield SharedPath(path, f"the path of source '{operator.name}'")
            elif isinstance(operation, WriteSink):
                for path in filter(None, map(local_path, operation.sink.paths)):
                    yield SharedPath(path, f"the folder of sink '{operator.name}'", is_written=True)
