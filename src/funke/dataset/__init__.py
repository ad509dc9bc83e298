"""The environment of Flink 1.x's DataSet API, for programs that give it to a BatchTableEnvironment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.common.execution_config import ExecutionConfig
from funke.datastream.execution_mode import RuntimeExecutionMode
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.errors import GraphError, at_user_line
from funke.table.flink_1.old_name_notes import note_old_name

if TYPE_CHECKING:
    from funke.table.environments.batch_table_environment import BatchTableEnvironment

__all__ = ["ExecutionEnvironment"]


class ExecutionEnvironment:
    """Where tables of a batch program run; it has no DataSets."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._table_environments: list[BatchTableEnvironment] = []

    @staticmethod
    def get_execution_environment() -> ExecutionEnvironment:
        """Make an environment in batch mode."""
        note_old_name("ExecutionEnvironment")
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        return ExecutionEnvironment(env)

    def get_parallelism(self) -> int:
        """Return how many subtasks work side by side."""
        return self._env.get_parallelism()

    def set_parallelism(self, parallelism: int) -> ExecutionEnvironment:
        """Set how many subtasks work side by side."""
        self._env.set_parallelism(parallelism)
        return self

    def get_default_local_parallelism(self) -> int:
        """Return how many subtasks work side by side unless the program says so."""
        return self._env.get_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set how many subtasks work side by side."""
        self._env.set_parallelism(parallelism)

    def get_config(self) -> ExecutionConfig:
        """Return settings of the environment."""
        return self._env.get_config()

    def set_restart_strategy(self, restart_strategy_configuration: Any) -> None:
        """Set what happens after a failure."""
        self._env.set_restart_strategy(restart_strategy_configuration)

    def get_restart_strategy(self) -> Any:
        """Return what happens after a failure."""
        return self._env.get_restart_strategy()

    def execute(self, job_name: str = "") -> Any:
        """Run the inserts that wait, and wait for their end."""
        results = [each.execute(job_name) for each in self._table_environments if each._buffered]
        if not results:
            raise GraphError(at_user_line("there is nothing to execute: call insert_into() of a table first"))
        return results[-1]
