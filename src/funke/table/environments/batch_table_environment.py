"""The table environment of batch programs of Flink 1.x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.errors import at_user_line
from funke.table.environment_settings import EnvironmentSettings
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.table_config import TableConfig
from funke.table.table_environment import TableEnvironment

if TYPE_CHECKING:
    from funke.dataset import ExecutionEnvironment

__all__ = ["BatchTableEnvironment"]


class BatchTableEnvironment(TableEnvironment):
    """A table environment in batch mode.

    >>> from funke.table import BatchTableEnvironment
    >>> t_env = BatchTableEnvironment.create()  # newer: TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    >>> t_env.list_databases()
    ['default_database']
    """

    @staticmethod
    def create(  # type: ignore[override]
        execution_environment: ExecutionEnvironment | None = None,
        table_config: TableConfig | EnvironmentSettings | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> BatchTableEnvironment:
        """Make an environment, on one of the DataSet API if there is one."""
        note_old_name("BatchTableEnvironment")
        if isinstance(table_config, EnvironmentSettings):
            table_config, environment_settings = None, table_config
        settings = environment_settings or EnvironmentSettings.in_batch_mode()
        if settings.is_streaming_mode():
            message = "The environment settings for BatchTableEnvironment must be set to batch mode."
            raise ValueError(at_user_line(message))
        if execution_environment is None:
            env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
            return BatchTableEnvironment(env, settings)._with(table_config)
        execution_environment._env.configure(settings.get_configuration())
        environment = BatchTableEnvironment(execution_environment._env, settings)._with(table_config)
        execution_environment._table_environments.append(environment)
        return environment

    def _with(self, table_config: TableConfig | None) -> BatchTableEnvironment:
        if table_config is not None:
            self.get_config().add_configuration(table_config.get_configuration())
        return self
