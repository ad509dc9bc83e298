"""Where tables are made and SQL is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.statements.outcome import InsertPlan
from funke.engine.sql.statements.plans.stored_plans import StoredPlan, insert_in, written_insert
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.table_elements import elements_relation, frame_relation, values_query
from funke.passed_on_names import pass_on_names
from funke.table.compiled_plan import CompiledPlan
from funke.table.environment_settings import EnvironmentSettings
from funke.table.environments.explained_tables import detail_names
from funke.table.environments.registered_objects import RegisteredObjects
from funke.table.environments.registered_tables import RegisteredTables
from funke.table.environments.table_runs import TableRuns
from funke.table.explain_detail import ExplainDetail
from funke.table.expression import Expression
from funke.table.flink_1.old_table_names import BufferedInserts, OldTableNames
from funke.table.plan_reference import PlanReference
from funke.table.statement_set import StatementSet
from funke.table.table import Table
from funke.table.table_config import TableConfig
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult
from funke.table.types import DataType, RowType

if TYPE_CHECKING:
    import pandas


__all__ = ["TableEnvironment"]

pass_on_names(__name__)

_QUERY_ONLY = (
    "Unsupported SQL query! sqlQuery() only accepts a single SQL query of type SELECT, UNION, INTERSECT, EXCEPT, "
    "VALUES, and ORDER_BY."
)


class TableEnvironment(RegisteredTables, RegisteredObjects, OldTableNames, TableRuns):
    """Holds catalogs, functions and settings; makes tables and runs SQL.

    >>> from funke.table import EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.get_config().set("parallelism.default", "1")  # rows keep their order
    >>> _ = t_env.execute_sql("CREATE VIEW orders AS SELECT * FROM (VALUES ('tea', 3), ('tea', 4)) AS t (item, price)")
    >>> t_env.execute_sql("SELECT item, SUM(price) AS total FROM orders GROUP BY item").print()
    +----+--------------------------------+-------------+
    | op |                           item |       total |
    +----+--------------------------------+-------------+
    | +I |                            tea |           3 |
    | -U |                            tea |           3 |
    | +U |                            tea |           7 |
    +----+--------------------------------+-------------+
    3 rows in set
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        super().__init__(env, settings)
        self._buffered = BufferedInserts()
        env._attachments.append(self._attach_buffered)

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Make an environment."""
        settings = _settings_of(environment_settings)
        env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return TableEnvironment(env, settings)

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

    def _environment(self) -> TableEnvironment:
        return self

    def _pipeline(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> TablePipeline:
        pipeline = TablePipeline(self._rows_plan(table, target, overwrite), self)
        self._buffered.add_pipeline(pipeline)
        return pipeline

    def _without_pending(self, plan: InsertPlan) -> InsertPlan:
        """A plan that is run otherwise than by `execute()` of this environment."""
        self._buffered.remove(plan)
        return plan


def _settings_of(settings: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    if isinstance(settings, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(settings).build()
    if not isinstance(settings, EnvironmentSettings):
        raise TypeError(f"argument should be EnvironmentSettings or Configuration, got {type(settings).__name__}")
    return settings
