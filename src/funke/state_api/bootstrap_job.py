"""Runs the job that makes first state: one bounded job per environment, whose last step writes snapshots."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from funke.datastream.job_submission import submit
from funke.datastream.rocksdb_options_factory import with_packed_factory
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.settings import Settings
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.errors import GraphError, at_user_line
from funke.engine.graph.builder import StreamRef
from funke.engine.graph.operations import CustomOperator, ReadSource
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints.checkpoints import OperatorEntry
from funke.engine.jobs.submission.job_building import job_graph_of, job_settings_of
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.state_processor.bootstrap_operator import Bootstrap
from funke.state_api.operator_identifier import OperatorIdentifier
from funke.state_api.operator_transformation import StateBootstrapTransformation

__all__ = ["NewOperator", "run_bootstrap_jobs"]

_JOB_NAME = "Write savepoint"
_NOT_FOR_BOOTSTRAP: tuple[ConfigOption[Any], ...] = (
    options.CHECKPOINTING_INTERVAL,
    options.STATE_RECOVERY_PATH,
    options.HIGH_AVAILABILITY,
    options.AUTO_GENERATE_UIDS,
)


@dataclass(frozen=True)
class NewOperator:
    """An operator that gets first state."""

    identifier: OperatorIdentifier
    transformation: StateBootstrapTransformation
    max_parallelism: int

    @property
    def env(self) -> StreamExecutionEnvironment:
        """The environment of its data."""
        return self.transformation.stream.get_execution_environment()

    @property
    def parallelism(self) -> int:
        """How many subtasks make its state."""
        own = max(1, self.env.get_parallelism()) if self.transformation.is_parallel else 1
        return min(own, self.max_parallelism)

    @property
    def entry(self) -> OperatorEntry:
        """How the savepoint describes it."""
        name = self.identifier.uid or self.identifier.operator_id
        uid = self.identifier.uid
        return OperatorEntry(
            self.identifier.operator_id,
            name,
            self.parallelism,
            self.max_parallelism,
            has_user_uid=uid is not None,
            uid=uid,
        )


def run_bootstrap_jobs(
    operators: Sequence[NewOperator], folder: str, configuration: dict[str, Any], key_hash: int
) -> tuple[SnapshotHandle, ...]:
    """Makes the state of all operators in a folder; returns the handles of the snapshots.

    State that goes with old state must be dealt out by the same hash.
    """
    by_env: dict[int, list[NewOperator]] = {}
    for operator in operators:
        by_env.setdefault(id(operator.env), []).append(operator)
    return tuple(chain.from_iterable(_run(group, folder, configuration, key_hash) for group in by_env.values()))


def _run(
    operators: list[NewOperator], folder: str, configuration: dict[str, Any], key_hash: int
) -> list[SnapshotHandle]:
    env, channel = operators[0].env, uuid.uuid4().hex
    settings = _job_settings(env._settings, configuration)
    graph = _graph(env, operators, folder, channel, settings)
    graph.key_hash = key_hash
    env._builder.pending.difference_update(graph.nodes)
    job = submit(graph, job_settings_of(graph, with_packed_factory(settings), env._cached_files))
    handles = list(chain.from_iterable(job.collected(channel)))
    job.result()
    return handles


def _graph(
    env: StreamExecutionEnvironment, operators: list[NewOperator], folder: str, channel: str, settings: Settings
) -> StreamGraph:
    builder = env._builder
    with builder.temporary_nodes():
        snapshots: list[StreamRef] = []
        for operator in operators:
            transformation = operator.transformation
            bootstrap = Bootstrap(
                transformation.operation, operator.identifier.operator_id, folder, transformation.input_index
            )
            state = builder.add(
                CustomOperator(bootstrap),
                [transformation.stream._ref],
                name=f"State of {operator.identifier}",
                parallelism=operator.parallelism,
                max_parallelism=operator.max_parallelism,
            )
            snapshots.append(state)
        first, *others = snapshots
        sink = builder.add_sink(CollectSink(channel), first.union(*others), name="Snapshots", parallelism=1)
        nodes = env._cached_results.with_cached_sources(builder.graph)
        graph = job_graph_of(nodes, {sink.id}, settings, _JOB_NAME)
    for node in graph.nodes.values():
        if isinstance(node.operation, ReadSource) and not node.operation.source.is_bounded:
            raise GraphError(at_user_line(f"first state is made of bounded data, but '{node.title}' never ends"))
    return graph


def _job_settings(settings: Settings, configuration: dict[str, Any]) -> Settings:
    """The environment's settings, without what is meant for jobs that run on: checkpoints, restarts, recovery."""
    own = settings.copy()
    for key, value in configuration.items():
        own.set_raw(key, value)
    for option in _NOT_FOR_BOOTSTRAP:
        own.unset(option)
    own.set(options.RESTART_STRATEGY, "none")
    return own
