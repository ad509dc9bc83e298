"""Where tables and streams become each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.common.java_handles import JavaConfiguration
from funke.datastream.data_stream import DataStream
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.graph.builder import StreamRef
from funke.engine.sql.catalog.objects import CatalogView
from funke.engine.sql.statements.tables.stream_tables import changelog_relation, stream_relation
from funke.table.environment_settings import EnvironmentSettings
from funke.table.environments.data_streams import append_stream, plain_stream, retract_stream, typed_stream
from funke.table.expression import Expression
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.flink_1.string_expressions import expressions_of
from funke.table.schema import Schema
from funke.table.table import Table
from funke.table.table_config import TableConfig
from funke.table.table_environment import TableEnvironment

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation
    from funke.table.changelog_mode import ChangelogMode

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment(TableEnvironment):
    """Where tables and streams become each other.

    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.table import StreamTableEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> row_type = Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.INT()])
    >>> orders = t_env.from_data_stream(env.from_collection([("tea", 3), ("milk", 1)], row_type))
    >>> cheap = t_env.sql_query(f"SELECT item FROM {orders} WHERE price < 2")
    >>> list(t_env.to_data_stream(cheap).execute_and_collect())
    [Row(item='milk')]
    """

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | TableConfig | None = None,
        old_environment_settings: EnvironmentSettings | None = None,
        *,
        table_config: TableConfig | None = None,
    ) -> StreamTableEnvironment:
        """Make an environment whose tables and streams belong to the same jobs.

        Programs of Flink 1.x give a TableConfig, as the second argument or by name, and the settings behind it.
        """
        if isinstance(environment_settings, TableConfig):
            table_config, environment_settings = environment_settings, None
        environment = StreamTableEnvironment._of_arguments(
            stream_execution_environment, environment_settings or old_environment_settings
        )
        if table_config is not None:
            note_old_name("a TableConfig in create()")
            environment.get_config().add_configuration(table_config.get_configuration())
        return environment

    @staticmethod
    def _of_arguments(
        stream_execution_environment: StreamExecutionEnvironment | None,
        environment_settings: EnvironmentSettings | None,
    ) -> StreamTableEnvironment:
        if stream_execution_environment is None and environment_settings is None:
            raise ValueError(
                "No argument found, the param 'stream_execution_environment' or 'environment_settings' is required."
            )
        env = stream_execution_environment
        if environment_settings is None:
            assert env is not None
            of_env = Configuration(j_configuration=JavaConfiguration(env._settings))
            return StreamTableEnvironment(env, EnvironmentSettings.new_instance().with_configuration(of_env).build())
        if env is None:
            env = StreamExecutionEnvironment.get_execution_environment(environment_settings.get_configuration())
        else:
            env.configure(environment_settings.get_configuration())
        return StreamTableEnvironment(env, environment_settings)

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Expression[Any] | str | Schema) -> Table:
        """Make a table of a stream, with the columns of its type, some of them, or those of a schema."""
        session, builder, stream = self._session, self._env._builder, data_stream._ref
        if fields_or_schema and isinstance(fields_or_schema[0], Schema):
            schema = fields_or_schema[0]._definition
            return Table(stream_relation(session, builder, stream, schema=schema), self)
        return Table(stream_relation(session, builder, stream, expressions_of(fields_or_schema)), self)

    def from_changelog_stream(
        self, data_stream: DataStream, schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Table:
        """Make a table of a stream of rows that are changes."""
        builder, stream = self._env._builder, data_stream._ref
        definition = None if schema is None else schema._definition
        kinds = None if changelog_mode is None else changelog_mode._kinds
        return Table(changelog_relation(self._session, builder, stream, definition, kinds), self)

    def to_data_stream(self, table: Table) -> DataStream:
        """Make a stream of a table whose rows are only added."""
        return self._data_stream(plain_stream(self._session, self._env._builder, table._relation))

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream:
        """Make a stream of rows that are changes."""
        rows = typed_stream(self._session, self._env._builder, table._relation, target_schema, changelog_mode)
        return self._data_stream(rows)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Make a stream of a table whose rows are only added, as in Flink 1.x."""
        return self._data_stream(append_stream(self._session, self._env._builder, table._relation, type_info))

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Make a stream of pairs: whether a row is added or taken back, and the row."""
        return self._data_stream(retract_stream(self._session, self._env._builder, table._relation, type_info))

    def _data_stream(self, rows: StreamRef) -> DataStream:
        is_operator = len(rows.upstreams) == 1 and rows.upstreams[0].partitioner is None
        return DataStream(self._env, rows, self._env._builder.node(rows) if is_operator else None)

    def _view_of(self, table: Table | DataStream, *fields_or_schema: Any) -> CatalogView:
        if isinstance(table, DataStream):
            table = self.from_data_stream(table, *fields_or_schema)
        return super()._view_of(table)
