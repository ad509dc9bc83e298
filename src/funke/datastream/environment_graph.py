"""The graph of an environment: the nodes of all its streams, and those that the next job is to run."""

from __future__ import annotations

from funke.datastream.environment_settings import EnvironmentSettings
from funke.datastream.unexecuted import watch_unexecuted
from funke.engine.config.settings import Settings
from funke.engine.graph.builder import GraphBuilder


class EnvironmentGraph(EnvironmentSettings):
    """Nodes stay after a job has run, because streams may be used again; they are pending only until then."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._builder = GraphBuilder(settings)
        # Names of the jobs that were run.
        self._submissions: list[str] = []
        watch_unexecuted(self)
