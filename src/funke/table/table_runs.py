"""How an environment of tables runs and explains what its tables and statements ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.common.java_handles import JavaConfiguration
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.graph.plan_json import to_plan_json
from funke.engine.jobs.notices import notice
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.state_growth import warnings_of
from funke.engine.sql.results.table_print import ResultColumns
from funke.engine.sql.rules.shared_relations import Reuse, reuse_of
from funke.engine.sql.statements.explanations import explain_inserts, explain_relation
from funke.engine.sql.statements.insert_plans import plan_insert, plan_rows
from funke.engine.sql.statements.job_plans import planned_inserts, planned_rows
from funke.engine.sql.statements.outcome import InsertPlan, Inserts, Outcome, QueryRows, text_outcome
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.statements.view_statements import schema_of_relation
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.syntax.path_text import parse_path
from funke.engine.sql.table_elements import to_frame
from funke.table.environment_settings import EnvironmentSettings
from funke.table.explain_detail import ExplainDetail
from funke.table.result_content import InsertCounts, JobRows, ReadyRows, left_rows
from funke.table.session_settings import ConfigSettings
from funke.table.table_config import TableConfig
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_jobs import (
    attach_inserts,
    collecting_graph,
    inserting_graph,
    start_collecting,
    start_inserting,
)
from funke.table.table_result import TableResult

if TYPE_CHECKING:
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
    from funke.engine.sql.binding.relations import Relation
    from funke.table.table import Table

__all__ = ["TableRuns", "detail_names"]

# The detail of an explained plan that only the environment knows: its job.
_JOB = "JSON_EXECUTION_PLAN"


def detail_names(details: Sequence[ExplainDetail]) -> tuple[str, ...]:
    names = {value: name for name, value in vars(ExplainDetail).items() if isinstance(value, int)}
    return tuple(names[each] for each in details)  # type: ignore[index]


class TableRuns:
    """The part of an environment that knows jobs."""

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._env = env
        self._config = TableConfig(Configuration(j_configuration=JavaConfiguration(env._settings)))
        self._session = TableSession(
            ConfigSettings(self._config),
            settings.is_streaming_mode(),
            settings.get_built_in_catalog_name(),
            settings.get_built_in_database_name(),
        )

    def _single_statement(self, text: str) -> syntax.Statement:
        """The statement of a text that has just one."""
        self._config._require_parser()
        statements = parse(text)
        if len(statements) != 1:
            raise ConfigurationError(at_user_line("only single statement supported"))
        return statements[0]

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
        planned = planned_rows(self._session, relation)
        self._warn_of_growth([planned])
        job, channel = start_collecting(self._env, planned, self._reuse, text)
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
        self._warn_of_growth([each.relation for each in planned])
        job = start_inserting(self._env, planned, self._reuse, job_name)
        names = [plan.name for plan in plans]
        shown = tuple(f"{name}_{place}" if names.count(name) > 1 else name for place, name in enumerate(names, 1))
        result = TableResult(InsertCounts(shown, job))
        if self._config.get("table.dml-sync", "false").lower() == "true":
            result.wait()
        return result

    def _warn_of_growth(self, relations: Sequence[Relation]) -> None:
        """Says once for a job what it keeps more and more of."""
        if self._session.is_streaming:
            for line in dict.fromkeys(line for each in relations for line in warnings_of(as_node(each))):
                notice(f"warning: {line}")

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

    def _insert_plan(self, stmt: str) -> InsertPlan:
        statement = self._single_statement(stmt)
        if not isinstance(statement, syntax.Insert):
            raise TableException("Only insert statement is supported now.")
        return plan_insert(self._session, statement)

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

    def _explain(self, relation: Relation, details: Sequence[ExplainDetail]) -> str:
        names = detail_names(details)
        text = explain_relation(self._session, relation, names)
        return text + (self._job_of_rows(relation) if _JOB in names else "")

    def _explain_inserts(self, plans: Sequence[InsertPlan], details: Sequence[ExplainDetail]) -> str:
        names = detail_names(details)
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
