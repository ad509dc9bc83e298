"""Where tables are made and SQL is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.datastream.data_stream import DataStream
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView
from funke.engine.sql.statements.insert_plans import plan_insert
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.stored_plans import StoredPlan, insert_in, written_insert
from funke.engine.sql.statements.table_statements import check_table
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.expressions import Star
from funke.engine.sql.syntax.path_text import format_path, parse_path
from funke.engine.sql.syntax.queries import Select, TableRef
from funke.engine.sql.table_elements import elements_relation, frame_relation, values_query
from funke.engine.types.near_names import did_you_mean
from funke.passed_on_names import pass_on_names
from funke.table.compiled_plan import CompiledPlan
from funke.table.environment_settings import EnvironmentSettings
from funke.table.explain_detail import ExplainDetail
from funke.table.expression import Expression
from funke.table.plan_reference import PlanReference
from funke.table.registered_objects import RegisteredObjects
from funke.table.schema import Schema
from funke.table.statement_set import StatementSet
from funke.table.table import Table
from funke.table.table_config import TableConfig
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult
from funke.table.table_runs import TableRuns, detail_names
from funke.table.types import DataType, RowType

if TYPE_CHECKING:
    import pandas


__all__ = ["TableEnvironment"]

pass_on_names(__name__)

_QUERY_ONLY = (
    "Unsupported SQL query! sqlQuery() only accepts a single SQL query of type SELECT, UNION, INTERSECT, EXCEPT, "
    "VALUES, and ORDER_BY."
)


class TableEnvironment(RegisteredObjects, TableRuns):
    """Holds catalogs, functions and settings; makes tables and runs SQL.

    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.execute_sql("CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole')").print()
    OK
    >>> t_env.list_tables()
    ['sink']
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        super().__init__(env, settings)
        self._unnamed = 0
        # What `execute()` of Flink 1.x is to run.
        self._buffered: list[InsertPlan] = []

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Make an environment."""
        settings = _settings_of(environment_settings)
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(env, settings)

    # Tables and views

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table that lives as long as this environment."""
        identifier = self._session.catalogs.qualify(parse_path(path))
        self._session.catalogs.create_temporary(identifier, self._checked(descriptor), bool(ignoreIfExists))

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table of the catalog."""
        identifier = self._session.catalogs.qualify(parse_path(path))
        self._session.catalogs.create_table(identifier, self._checked(descriptor), bool(ignoreIfExists))

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream,
        *fields_or_schema: str | Expression[Any] | Schema,
    ) -> None:
        """Give a table or a stream a name that queries can use."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        view = self._view_of(table_or_data_stream, *fields_or_schema)
        self._session.catalogs.create_temporary(identifier, view, False)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> bool:
        """Make a view of the catalog; returns whether it was made."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        is_there = self._session.catalogs.find(identifier) is not None
        self._session.catalogs.create_table(identifier, self._view_of(table), bool(ignore_if_exists))
        return not is_there

    def from_path(self, path: str) -> Table:
        """Return a table or view of the catalog."""
        return self._found(parse_path(path))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return a table that has no name."""
        anonymous = self._session.anonymous_tables
        connector = descriptor.get_options().get("connector")
        identifier = self._session.catalogs.qualify((f"*anonymous_{connector}${len(anonymous) + 1}*",))
        table = self._checked(descriptor)
        relation = self._session.relation_of(identifier, table, may_be_unreadable=True)
        anonymous[identifier] = table
        path = (identifier.catalog, identifier.database, identifier.name)
        query = Select((Star(),), TableRef(path))
        return Table(relation, self, self._session.declared(table), query)

    # Names of Flink 1.x

    def register_table(self, name: str, table: Table) -> None:
        """Give a table a name, as in Flink 1.x."""
        self.create_temporary_view(name, table)

    def scan(self, *table_path: str) -> Table:
        """Return a table or view of the catalog, as in Flink 1.x."""
        return self._found(table_path)

    def _found(self, path: tuple[str, ...]) -> Table:
        relation = self._session.find_table(path)
        if relation is None:
            missing = self._session.missing_part(path)
            hint = did_you_mean(missing.name, missing.known, begin=" Did")
            raise ValidationException(f"Table {format_path(path)} was not found.{hint}")
        identifier = self._session.catalogs.qualify(path)
        named = TableRef((identifier.catalog, identifier.database, identifier.name))
        return Table(relation, self, self._session.find_declared(path), Select((Star(),), named))

    def sql_update(self, stmt: str) -> None:
        """Run a statement, as in Flink 1.x; an INSERT waits for `execute()`."""
        statement = self._single_statement(stmt)
        if isinstance(statement, syntax.Insert):
            self._buffered.append(plan_insert(self._session, statement))
        else:
            self._run(statement)

    def insert_into(self, target_path: str, table: Table) -> None:
        """Say that a table's rows go to another one when `execute()` is called, as in Flink 1.x."""
        table.insert_into(target_path)

    def execute(self, job_name: str) -> Any:
        """Run the inserts of `sql_update` and `insert_into`, and wait for their end, as in Flink 1.x.

        `Table.insert_into` counts too, unless what it gave was run or put into a StatementSet. Without any insert it
        runs what is in the environment of streams.
        """
        plans, self._buffered = tuple(self._buffered), []
        if not plans:
            return self._env.execute(job_name)
        client = self._execute_inserts(plans, job_name).get_job_client()
        assert client is not None
        return client.get_job_execution_result().result()

    def list_tables(self) -> list[str]:
        """Return the names of tables and views."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """Return the names of views."""
        return self._session.catalogs.list_views()

    def list_materialized_tables(self) -> list[str]:
        """Return the names of materialized tables: there are none."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """Return the names of temporary tables and views, as PyFlink does."""
        catalogs = self._session.catalogs
        return sorted([*catalogs.list_temporary_tables(), *catalogs.list_temporary_views()])

    def list_temporary_views(self) -> list[str]:
        """Return the names of temporary views."""
        return self._session.catalogs.list_temporary_views()

    def drop_temporary_table(self, table_path: str) -> bool:
        """Forget a temporary table; returns whether there was one."""
        return self._session.catalogs.drop_temporary_table(self._session.catalogs.qualify(parse_path(table_path)), True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a table of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(table_path))
        return self._session.catalogs.drop_table(identifier, bool(ignore_if_not_exists))

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a temporary view; returns whether there was one."""
        return self._session.catalogs.drop_temporary_view(self._session.catalogs.qualify(parse_path(view_path)), True)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a view of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(view_path))
        return self._session.catalogs.drop_view(identifier, bool(ignore_if_not_exists))

    # SQL

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """Return how a statement would be run."""
        statement = self._single_statement(stmt)
        return self._explained(syntax.Explain(statement, detail_names(extra_details)))

    def sql_query(self, query: str) -> Table:
        """Return the table of a query."""
        statement = self._single_statement(query)
        if not isinstance(statement, syntax.QueryStatement):
            raise ValidationException(_QUERY_ONLY)
        return Table(self._session.bind(statement.query), self, query=statement.query)

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement."""
        statement = self._single_statement(stmt)
        return self._run(statement)

    def create_statement_set(self) -> StatementSet:
        """Begin a set of inserts that one job runs."""
        return StatementSet(self)

    def get_config(self) -> TableConfig:
        """Return the settings; changes hold for what runs later."""
        return self._config

    def add_python_file(self, file_path: str) -> None:
        """Send a Python file, package or archive with jobs."""
        self._env.add_python_file(file_path)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a requirements file for the workers."""
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers."""
        self._env.add_python_archive(archive_path, target_dir)

    # What the program has

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | list[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """Make a table of elements: tuples, lists, dicts, Rows, or rows of expressions."""
        listed = list(elements)
        are_expressions = [isinstance(each, Expression) for each in listed]
        if listed and all(are_expressions):
            return Table(self._session.bind(values_query([each._syntax for each in listed], schema)), self)
        if any(are_expressions):
            raise ValueError("It doesn't support part of the elements are Expression, while the others are not.")
        return Table(elements_relation(listed, schema, verify_schema), self)

    def from_pandas(
        self,
        pdf: pandas.DataFrame,
        schema: RowType | list[str] | tuple[str, ...] | list[DataType] | tuple[DataType, ...] | None = None,
        splits_num: int = 1,
    ) -> Table:
        """Make a table of a DataFrame of pandas."""
        return Table(frame_relation(pdf, schema, self._session.zone), self)

    # Plans

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """Return a plan that was stored."""
        return CompiledPlan(plan_reference._plan(), self)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Return the plan of an INSERT, or of several in a statement set, to be stored."""
        self._config._require_parser()
        return CompiledPlan(StoredPlan.of_text(self._session, stmt), self)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Run a plan that was stored."""
        return self.load_plan(plan_reference).execute()

    def _compiled(self, plans: Sequence[InsertPlan]) -> CompiledPlan:
        inserts = [insert_in(plan.text or written_insert(self._session, plan)) for plan in plans]
        return CompiledPlan(StoredPlan.of(self._session, inserts), self)

    # What tables ask of their environment

    def _pipeline(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> TablePipeline:
        plan = self._rows_plan(table, target, overwrite)
        self._buffered.append(plan)
        return TablePipeline(plan, self)

    def _taken(self, plan: InsertPlan) -> InsertPlan:
        """A plan that is run otherwise than by `execute()` of this environment."""
        self._buffered = [each for each in self._buffered if each is not plan]
        return plan

    def _register_unnamed(self, table: Table) -> str:
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self.create_temporary_view(name, table)
        return name

    def _view_of(self, table: Table | DataStream, *fields_or_schema: Any) -> CatalogView:
        if not isinstance(table, Table):
            raise TypeError(f"a view is made of a Table, got {type(table).__name__}")
        return CatalogView(schema_of_relation(table._relation), table=table._relation)

    def _checked(self, descriptor: TableDescriptor) -> CatalogTable:
        table = descriptor._to_catalog_table()
        check_table(self._session, table)
        return table


def _settings_of(given: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    if not isinstance(given, EnvironmentSettings):
        raise TypeError(f"argument should be EnvironmentSettings or Configuration, got {type(given).__name__}")
    return given
