"""The environment of a program: it holds the graph, knows the settings, and runs jobs."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.common.java_handles import JavaEnvironment
from funke.common.job_client import JobClient
from funke.common.job_execution_result import JobExecutionResult
from funke.datastream.closeable_iterator import CloseableIterator
from funke.datastream.environment_sources import EnvironmentSources
from funke.datastream.interrupts import cancelled_by_interrupt
from funke.datastream.job_submission import submit
from funke.datastream.rocksdb_options_factory import with_packed_factory
from funke.engine.config.job_defaults import job_defaults
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.errors import GraphError, at_user_line
from funke.engine.graph.builder import StreamRef
from funke.engine.graph.plan_json import to_plan_json
from funke.engine.graph.stream_graph import StreamGraph, StreamNode
from funke.engine.jobs.submission.cached_results import CachedResults
from funke.engine.jobs.submission.job_building import DEFAULT_JOB_NAME, job_graph_of, job_settings_of
from funke.passed_on_names import pass_on_names

if TYPE_CHECKING:
    from funke.engine.jobs.job import SubmittedJob

__all__ = ["StreamExecutionEnvironment"]

pass_on_names(__name__)


class StreamExecutionEnvironment(EnvironmentSources):
    """The context in which a streaming program runs.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.set_parallelism(1)
    >>> words = env.from_collection(["to", "be"]).map(str.upper)
    >>> with words.execute_and_collect("Words") as results:
    ...     list(results)
    ['TO', 'BE']
    """

    def __init__(self, serializer: Any = None, *, configuration: Configuration | None = None) -> None:
        settings = job_defaults()
        if configuration is not None:
            settings.update(configuration._settings)
        super().__init__(settings)
        self.serializer = serializer
        self._cached_results = CachedResults()
        # Called before a job is taken: tables add the inserts that wait for it.
        self._attachments: list[Callable[[], None]] = []

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """Create an environment with the settings of the cluster and the command line, and then the given ones."""
        return StreamExecutionEnvironment(configuration=configuration)

    @property
    def _j_stream_execution_environment(self) -> JavaEnvironment:
        return JavaEnvironment(self._settings)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run everything that was added since the last job, and wait for its end."""
        job = self._submit(self._take_graph(job_name))
        with cancelled_by_interrupt(job):
            return JobExecutionResult(job.result())

    def execute_async(self, job_name: str = DEFAULT_JOB_NAME) -> JobClient:
        """Run everything that was added since the last job, and return at once."""
        return JobClient(self._submit(self._take_graph(job_name)))

    def get_execution_plan(self) -> str:
        """Return the plan of the next job as JSON, in the form that Flink's plan visualizer reads."""
        return to_plan_json(self._pending_graph(None))

    def close(self) -> None:
        """Forget everything that was cached."""
        self._cached_results.clear()

    def _pending_graph(self, job_name: str | None) -> StreamGraph:
        if not self._builder.pending:
            raise GraphError(at_user_line("there is nothing to execute: add operators and sinks to a stream first"))
        return self._graph_of(self._builder.pending, job_name)

    def _take_graph(self, job_name: str | None) -> StreamGraph:
        for attach in self._attachments:
            attach()
        graph = self._pending_graph(job_name)
        self._builder.pending.clear()
        return graph

    def _graph_of(self, roots: set[int], job_name: str | None) -> StreamGraph:
        nodes = self._cached_results.with_cached_sources(self._builder.graph)
        return job_graph_of(nodes, roots, self._settings, job_name)

    def _submit(self, graph: StreamGraph) -> SubmittedJob:
        self._submissions.append(graph.job_name)
        graph = self._cached_results.with_collecting_sinks(graph)
        job = submit(graph, job_settings_of(graph, with_packed_factory(self._settings), self._cached_files))
        self._cached_results.fill_from(job, graph)
        return job

    def _collect(self, stream: StreamRef, job_name: str | None) -> CloseableIterator:
        """Run the job that a stream needs, and nothing else, and hand out the stream's elements."""
        channel = uuid.uuid4().hex
        builder = self._builder
        with builder.temporary_nodes():
            first = builder.graph.nodes[stream.upstreams[0].node_id]
            sink = builder.add_sink(CollectSink(channel), stream, name="Collect", parallelism=first.parallelism)
            graph = self._graph_of({sink.id}, job_name)
        builder.pending.difference_update(graph.nodes)
        return CloseableIterator(self._submit(graph), channel, stream.type_info)

    def _cache(self, node: StreamNode) -> None:
        graph = self._builder.graph.with_only_ancestors_of({node.id})
        self._cached_results.add(node, graph)

    def _forget_cached(self, node: StreamNode) -> None:
        self._cached_results.forget(node)
