"""The local paths of a job that its hosts must share: of its checkpoints, sources and sinks."""

from __future__ import annotations

from collections.abc import Iterator

from funke.engine.config import flink_options as options
from funke.engine.graph.operations import ReadSource, WriteSink
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from funke.engine.planner.plan import Plan
from funke.engine.runtime.job_files.shared_paths import SharedPath
from funke.engine.runtime.snapshots.snapshot_files import local_path

__all__ = ["job_paths"]


def job_paths(plan: Plan, checkpoint_coordinator: CheckpointCoordinator) -> Iterator[SharedPath]:
    """What is on a disk, and not in storage with an address of its own."""
    if checkpoint_coordinator.is_periodic and (folder := local_path(checkpoint_coordinator.store.folder)) is not None:
        purpose = f"the checkpoint folder ({options.CHECKPOINTS_DIRECTORY.key})"
        yield SharedPath(folder, purpose, is_written=True, is_private=True)
    for vertex in plan.graph.vertices:
        for operator in vertex.operators:
            operation = operator.operation
            if isinstance(operation, ReadSource):
                for path in filter(None, map(local_path, operation.source.paths)):
                    yield SharedPath(path, f"the path of source '{operator.name}'")
            elif isinstance(operation, WriteSink):
                for path in filter(None, map(local_path, operation.sink.paths)):
                    yield SharedPath(path, f"the folder of sink '{operator.name}'", is_written=True)
