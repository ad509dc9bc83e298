"""Where tables are made and SQL is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.common.java_handles import JavaConfiguration
from funke.datastream.data_stream import DataStream
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.errors import ConfigurationError, at_user_line, unsupported
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.graph.builder import StreamRef
from funke.engine.graph.plan_json import to_plan_json
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.catalog.objects import CatalogFunction, CatalogTable, CatalogView
from funke.engine.sql.functions.built_in_names import built_in_names
from funke.engine.sql.parsing import parse
from funke.engine.sql.results.table_print import ResultColumns
from funke.engine.sql.rules.shared_relations import Reuse, reuse_of
from funke.engine.sql.statements.explanations import explain_inserts, explain_relation
from funke.engine.sql.statements.insert_plans import plan_insert, plan_rows
from funke.engine.sql.statements.job_plans import planned_inserts, planned_rows
from funke.engine.sql.statements.outcome import InsertPlan, Inserts, Outcome, QueryRows, text_outcome
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.statements.stored_plans import StoredPlan, insert_in, written_insert
from funke.engine.sql.statements.stream_tables import changelog_relation, stream_relation
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.table_statements import check_table
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.expressions import Star
from funke.engine.sql.syntax.path_text import format_path, parse_path
from funke.engine.sql.syntax.queries import Select, TableRef
from funke.engine.sql.table_elements import elements_relation, frame_relation, to_frame, values_query
from funke.engine.types.near_names import did_you_mean
from funke.passed_on_names import pass_on_names
from funke.table.catalog import Catalog, CatalogDescriptor, UserCatalog
from funke.table.compiled_plan import CompiledPlan
from funke.table.data_streams import (
    append_stream,
    plain_stream,
    retract_stream,
    typed_stream,
)
from funke.table.environment_settings import EnvironmentSettings
from funke.table.explain_detail import ExplainDetail
from funke.table.expression import Expression
from funke.table.model_descriptor import ModelDescriptor
from funke.table.module import Module, ModuleEntry
from funke.table.plan_reference import PlanReference
from funke.table.result_content import InsertCounts, JobRows, ReadyRows, left_rows
from funke.table.schema import Schema
from funke.table.session_settings import ConfigSettings
from funke.table.statement_set import StatementSet
from funke.table.string_expressions import expressions_of
from funke.table.table import Table
from funke.table.table_config import TableConfig
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_jobs import (
    attach_inserts,
    collecting_graph,
    inserting_graph,
    start_collecting,
    start_inserting,
)
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult
from funke.table.types import DataType, RowType
from funke.table.udf import (
    AggregateFunction,
    TableAggregateFunction,
    UserDefinedFunctionWrapper,
    udaf,
    udtaf,
)

if TYPE_CHECKING:
    import pandas

    from funke.engine.types.type_information import TypeInformation
    from funke.table.changelog_mode import ChangelogMode

__all__ = ["StreamTableEnvironment", "TableEnvironment"]

pass_on_names(__name__)

_NO_JAVA = "there is no JVM of Flink's; write the function in Python"
_QUERY_ONLY = (
    "Unsupported SQL query! sqlQuery() only accepts a single SQL query of type SELECT, UNION, INTERSECT, EXCEPT, "
    "VALUES, and ORDER_BY."
)


class TableEnvironment:
    """Holds catalogs, functions and settings; makes tables and runs SQL.

    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.execute_sql("CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole')").print()
    OK
    >>> t_env.list_tables()
    ['sink']
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._env = env
        self._config = TableConfig(Configuration(j_configuration=JavaConfiguration(env._settings)))
        self._session = TableSession(
            ConfigSettings(self._config),
            settings.is_streaming_mode(),
            settings.get_built_in_catalog_name(),
            settings.get_built_in_database_name(),
        )
        self._unnamed = 0
        # What `execute()` of Flink 1.x is to run.
        self._buffered: list[InsertPlan] = []

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Make an environment."""
        settings = _settings_of(environment_settings)
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(env, settings)

    # Catalogs, databases, modules

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog as its description says."""
        options = tuple(catalog_descriptor._configuration.to_dict().items())
        statement = syntax.CreateCatalog(catalog_name, options, catalog_descriptor._comment)
        execute_statement(self._session, statement)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog, which may be one that the program wrote itself."""
        self._session.catalogs.register(catalog_name, UserCatalog(catalog_name, catalog))

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Return a catalog; None if there is none."""
        found = self._session.catalogs.get_catalog(catalog_name)
        return None if found is None else Catalog(found)

    def load_module(self, module_name: str, module: Module) -> None:
        """Add a module, behind those that are there."""
        self._session.modules.load(module_name, module._user_functions())

    def unload_module(self, module_name: str) -> None:
        """Take a module away."""
        self._session.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Ask these modules for functions, in this order, and no others."""
        self._session.modules.use(module_names)

    def list_catalogs(self) -> list[str]:
        """Return the names of all catalogs."""
        return self._session.catalogs.list_catalogs()

    def list_modules(self) -> list[str]:
        """Return the names of modules in use."""
        return self._session.modules.list_modules()

    def list_full_modules(self) -> list[ModuleEntry]:
        """Return all modules, and whether they are in use."""
        return [ModuleEntry(*each) for each in self._session.modules.list_full_modules()]

    def list_databases(self) -> list[str]:
        """Return the names of the current catalog's databases."""
        return sorted(self._session.catalogs.catalog(self.get_current_catalog()).list_databases())

    def get_current_catalog(self) -> str:
        """Return the name of the current catalog."""
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog, and its default database, the current one."""
        self._session.catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        """Return the name of the current database."""
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._session.catalogs.use_database(database_name)

    # Functions

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Give a function a name that holds in all databases."""
        self._session.functions.create_temporary_system(name, _catalog_function(function), False)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget such a function; returns whether there was one."""
        return self._session.functions.drop_temporary_system(name, True)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Give a function a name in a database, while this environment lives."""
        self._session.functions.create_temporary(parse_path(path), _catalog_function(function), False)

    def drop_temporary_function(self, path: str) -> bool:
        """Forget such a function; returns whether there was one."""
        return self._session.functions.drop_temporary(parse_path(path), True)

    def drop_function(self, path: str) -> bool:
        """Drop a function of a catalog; returns whether there was one."""
        return self._session.functions.drop(parse_path(path), True)

    def register_function(self, name: str, function: UserDefinedFunctionWrapper) -> None:
        """Give a function a name, as in Flink 1.x; an older one of that name is replaced."""
        self._session.functions.drop_temporary_system(name, True)
        self.create_temporary_system_function(name, function)

    create_java_temporary_system_function = unsupported(
        "TableEnvironment.create_java_temporary_system_function", _NO_JAVA
    )
    create_java_function = unsupported("TableEnvironment.create_java_function", _NO_JAVA)
    create_java_temporary_function = unsupported("TableEnvironment.create_java_temporary_function", _NO_JAVA)
    register_java_function = unsupported("TableEnvironment.register_java_function", _NO_JAVA)

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the program's functions."""
        return self._session.functions.list_user_defined()

    def list_functions(self) -> list[str]:
        """Return the names of all functions."""
        return sorted({*built_in_names(), *self.list_user_defined_functions()})

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
        (statement,) = self._parsed(stmt)
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

    def list_models(self) -> list[str]:
        """Return the names of models."""
        return self._session.models.list_permanent()

    def list_temporary_models(self) -> list[str]:
        """Return the names of temporary models."""
        return self._session.models.list_temporary()

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Make a model of the catalog; no query asks it here."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        self._session.models.create(identifier, model_descriptor._to_catalog_model(), bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keep a model for this session; no query asks it here."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        self._session.models.create_temporary(identifier, model_descriptor._to_catalog_model(), bool(ignore_if_exists))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a model of the catalog; returns whether there was one."""
        identifier = self._session.catalogs.qualify(parse_path(model_path))
        return self._session.models.drop(identifier, bool(ignore_if_not_exists))

    def drop_temporary_model(self, model_path: str) -> bool:
        """Forget a temporary model; returns whether there was one."""
        return self._session.models.drop_temporary(self._session.catalogs.qualify(parse_path(model_path)))

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
        (statement,) = self._parsed(stmt)
        return self._explained(syntax.Explain(statement, _detail_names(extra_details)))

    def sql_query(self, query: str) -> Table:
        """Return the table of a query."""
        (statement,) = self._parsed(query)
        if not isinstance(statement, syntax.QueryStatement):
            raise ValidationException(_QUERY_ONLY)
        return Table(self._session.bind(statement.query), self, query=statement.query)

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement."""
        (statement,) = self._parsed(stmt)
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
        self.get_config()._require_parser()
        return CompiledPlan(StoredPlan.of_text(self._session, stmt), self)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Run a plan that was stored."""
        return self.load_plan(plan_reference).execute()

    def _compiled(self, plans: Sequence[InsertPlan]) -> CompiledPlan:
        inserts = [insert_in(plan.text or written_insert(self._session, plan)) for plan in plans]
        return CompiledPlan(StoredPlan.of(self._session, inserts), self)

    # What tables ask of their environment

    def _run(self, statement: syntax.Statement) -> TableResult:
        if isinstance(statement, syntax.Explain):
            return TableResult(ReadyRows(text_outcome(self._explained(statement), is_plain=True)))
        result = execute_statement(self._session, statement)
        if isinstance(result, QueryRows):
            return self._execute_query(result.relation, result.text)
        if isinstance(result, Inserts):
            return self._execute_inserts(result.plans)
        return TableResult(ReadyRows(result))

    def _execute_query(self, relation: Relation, text: str = "") -> TableResult:
        self._require_mode()
        job, channel = start_collecting(self._env, planned_rows(self._session, relation), self._reuse, text)
        names = tuple(each.name for each in relation.columns)
        printed = ResultColumns(names, tuple(each.type for each in relation.columns), self._session.zone)
        return TableResult(JobRows(relation.columns, job, channel, printed, self._session.is_streaming))

    def _to_pandas(self, relation: Relation) -> Any:
        with self._execute_query(relation).collect() as rows:
            values = [tuple(row) for row in left_rows(rows)]
        return to_frame(relation.columns, values, self._session.zone)

    def _execute_inserts(self, plans: Sequence[InsertPlan], job_name: str | None = None) -> TableResult:
        self._require_mode()
        planned = planned_inserts(self._session, plans)
        job = start_inserting(self._env, planned, self._reuse, job_name)
        names = [plan.name for plan in plans]
        shown = tuple(f"{name}_{place}" if names.count(name) > 1 else name for place, name in enumerate(names, 1))
        result = TableResult(InsertCounts(shown, job))
        if self._config.get("table.dml-sync", "false").lower() == "true":
            result.wait()
        return result

    @property
    def _reuse(self) -> Reuse:
        return reuse_of(self._session.settings)

    def _require_mode(self) -> None:
        """Plans are those of the mode that the environment was made with."""
        mode = "STREAMING" if self._session.is_streaming else "BATCH"
        if self._config.get("execution.runtime-mode", mode).upper() != mode:
            raise ConfigurationError(
                at_user_line(
                    "Mismatch between configured runtime mode and actual runtime mode. Currently, the "
                    "'execution.runtime-mode' can only be set when instantiating the table environment. Subsequent "
                    "changes are not supported. Please instantiate a new TableEnvironment if necessary."
                )
            )

    def _attach_inserts(self, plans: Sequence[InsertPlan]) -> None:
        attach_inserts(self._env._builder, planned_inserts(self._session, plans), self._reuse)

    def _parsed(self, text: str) -> list[syntax.Statement]:
        self.get_config()._require_parser()
        statements = parse(text)
        if len(statements) != 1:
            raise ConfigurationError(at_user_line("only single statement supported"))
        return statements

    def _insert_plan(self, stmt: str) -> InsertPlan:
        (statement,) = self._parsed(stmt)
        if not isinstance(statement, syntax.Insert):
            raise TableException("Only insert statement is supported now.")
        return plan_insert(self._session, statement)

    def _pipeline(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> TablePipeline:
        plan = self._rows_plan(table, target, overwrite)
        self._buffered.append(plan)
        return TablePipeline(plan, self)

    def _rows_plan(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> InsertPlan:
        if isinstance(target, TableDescriptor):
            declared = target._to_catalog_table()
            if not declared.schema.columns:
                columns = schema_of_relation(table._relation)
                declared = CatalogTable(columns, declared.options, declared.partition_keys, declared.comment)
            return plan_rows(self._session, None, declared, table._relation, is_overwrite=overwrite)
        identifier = self._session.catalogs.qualify(parse_path(target))
        found = self._session.catalogs.get(identifier)
        if isinstance(found, CatalogView):
            raise ValidationException(f"the view {identifier} cannot be written to")
        plan = plan_rows(self._session, identifier, found, table._relation, is_overwrite=overwrite)
        return replace(plan, query=table._query, is_overwrite=overwrite)

    def _taken(self, plan: InsertPlan) -> InsertPlan:
        """A plan that is run otherwise than by `execute()` of this environment."""
        self._buffered = [each for each in self._buffered if each is not plan]
        return plan

    def _explain(self, relation: Relation, details: Sequence[ExplainDetail]) -> str:
        names = _detail_names(details)
        text = explain_relation(self._session, relation, names)
        return text + (self._job_of_rows(relation) if _JOB in names else "")

    def _explain_inserts(self, plans: Sequence[InsertPlan], details: Sequence[ExplainDetail]) -> str:
        names = _detail_names(details)
        text = explain_inserts(self._session, plans, names)
        return text + (self._job_of_inserts(plans) if _JOB in names else "")

    def _explained(self, statement: syntax.Explain) -> str:
        outcome = execute_statement(self._session, statement)
        assert isinstance(outcome, Outcome)
        text, explained = str(outcome.rows[0][0]), statement.statement
        if _JOB not in (each.upper() for each in statement.details):
            return text
        if isinstance(explained, syntax.QueryStatement):
            return text + self._job_of_rows(self._session.bind(explained.query))
        inserts = explained.inserts if isinstance(explained, syntax.StatementSet) else (explained,)
        return text + self._job_of_inserts(
            [plan_insert(self._session, each) for each in inserts if isinstance(each, syntax.Insert)]
        )

    def _job_of_rows(self, relation: Relation) -> str:
        graph = collecting_graph(self._env, planned_rows(self._session, relation), "explained", self._reuse)
        return f"\n== Physical Execution Plan ==\n{to_plan_json(graph)}\n"

    def _job_of_inserts(self, plans: Sequence[InsertPlan]) -> str:
        graph = inserting_graph(self._env, planned_inserts(self._session, plans), self._reuse)
        return f"\n== Physical Execution Plan ==\n{to_plan_json(graph)}\n"

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


class StreamTableEnvironment(TableEnvironment):
    """Where tables and streams become each other."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Make an environment whose tables and streams belong to the same jobs."""
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


def _settings_of(given: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    if not isinstance(given, EnvironmentSettings):
        raise TypeError(f"argument should be EnvironmentSettings or Configuration, got {type(given).__name__}")
    return given


# The detail of an explained plan that only the environment knows: its job.
_JOB = "JSON_EXECUTION_PLAN"


def _detail_names(details: Sequence[ExplainDetail]) -> tuple[str, ...]:
    names = {value: name for name, value in vars(ExplainDetail).items() if isinstance(value, int)}
    return tuple(names[each] for each in details)  # type: ignore[index]


def _catalog_function(function: Any) -> CatalogFunction:
    decorated = _decorated(function)
    return CatalogFunction(decorated._name, "PYTHON", function=decorated)


def _decorated(function: Any) -> UserDefinedFunctionWrapper:
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    # PyFlink wraps aggregates; whoever names their types in the class needs no decorator.
    if isinstance(function, TableAggregateFunction):
        made = udtaf(function, result_type=function.get_result_type(), accumulator_type=function.get_accumulator_type())
    elif isinstance(function, AggregateFunction):
        made = udaf(function, result_type=function.get_result_type(), accumulator_type=function.get_accumulator_type())
    else:
        raise TypeError(
            "a function for tables is made by udf(), udtf(), udaf() or udtaf(), which say its types; "
            f"got {type(function).__name__}"
        )
    assert isinstance(made, UserDefinedFunctionWrapper)
    return made
