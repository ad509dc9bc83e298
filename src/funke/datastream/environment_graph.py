"""The nodes of an environment: those of all its streams, and those that the next job is to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from funke.datastream.environment_settings import EnvironmentSettings
from funke.datastream.unexecuted import watch_unexecuted
from funke.datastream.upstream import Upstream, edges_to
from funke.engine.config.settings import Settings
from funke.engine.errors import user_line
from funke.engine.graph.operations import Operation, ReadSource
from funke.engine.graph.stream_graph import StreamGraph, StreamNode
from funke.engine.types.type_information import TypeInformation


class EnvironmentGraph(EnvironmentSettings):
    """Nodes stay after a job has run, because streams may be used again; they are pending only until then."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._nodes = StreamGraph()
        self._pending: set[int] = set()
        # Names of the jobs that were run.
        self._submissions: list[str] = []
        self._last_id = 0
        watch_unexecuted(self)

    def _append(
        self,
        operation: Operation,
        name: str,
        inputs: Sequence[Sequence[Upstream]],
        output_type: TypeInformation | None,
    ) -> StreamNode:
        """Add a node; its parallelism is the environment's at this moment, as in Flink."""
        self._last_id += 1
        parallelism = self.get_parallelism()
        node = StreamNode(
            self._last_id,
            operation,
            name,
            edges_to(self._last_id, inputs),
            parallelism=parallelism if parallelism > 0 else None,
            output_type=output_type,
            user_line=user_line(),
        )
        self._nodes.add(node)
        # A source alone is no job: it runs with what reads it.
        if not isinstance(operation, ReadSource):
            self._pending.add(node.id)
        return node

    @contextmanager
    def _temporary_nodes(self) -> Iterator[None]:
        """Take nodes that are added inside the block out of the graph again."""
        first = self._last_id + 1
        try:
            yield
        finally:
            for node_id in range(first, self._last_id + 1):
                self._nodes.nodes.pop(node_id, None)
                self._pending.discard(node_id)
