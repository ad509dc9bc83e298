"""How an environment of tables runs and explains what its tables and statements ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.common.configuration import Configuration
from funke.common.java_handles import JavaConfiguration
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.jobs.notices import notice
from funke.engine.sql.connectors.old_properties import has_old_properties
from funke.engine.sql.plan.node import as_node
from funke.engine.sql.plan.state_growth import warnings_of
from funke.engine.sql.results.table_print import ResultColumns
from funke.engine.sql.statements.outcome import InsertPlan, Inserts, QueryRows, text_outcome
from funke.engine.sql.statements.plans.job_plans import planned_inserts, planned_rows
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import statements as syntax
from funke.engine.sql.table_elements import to_frame
from funke.table.environment_settings import EnvironmentSettings
from funke.table.environments.explained_tables import ExplainedTables
from funke.table.environments.planned_inserts import PlannedInserts
from funke.table.environments.session_settings import ConfigSettings
from funke.table.environments.table_jobs import (
    attach_inserts,
    start_collecting,
    start_inserting,
)
from funke.table.flink_1.old_name_notes import note_old_name
from funke.table.results.result_content import InsertCounts, JobRows, ReadyRows, left_rows
from funke.table.table_config import TableConfig
from funke.table.table_result import TableResult

if TYPE_CHECKING:
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
    from funke.engine.sql.binding.relations import Relation

__all__ = ["TableRuns"]


class TableRuns(ExplainedTables, PlannedInserts):
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

    def _run(self, statement: syntax.Statement, job_name: str | None = None) -> TableResult:
        if isinstance(statement, syntax.Explain):
            return TableResult(ReadyRows(text_outcome(self._explained(statement), is_plain=True)))
        if isinstance(statement, syntax.CreateTable) and has_old_properties(dict(statement.options)):
            note_old_name("'connector.type'")
        result = execute_statement(self._session, statement)
        if isinstance(result, QueryRows):
            return self._execute_query(result.relation, result.text, job_name)
        if isinstance(result, Inserts):
            return self._execute_inserts(result.plans, job_name)
        return TableResult(ReadyRows(result))

    def _execute_query(self, relation: Relation, text: str = "", job_name: str | None = None) -> TableResult:
        self._require_mode()
        planned = planned_rows(self._session, relation)
        self._warn_of_growth([planned])
        job, channel = start_collecting(self._env, planned, self._reuse, text, job_name)
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
        column_names = tuple(
            f"{name}_{index}" if names.count(name) > 1 else name for index, name in enumerate(names, 1)
        )
        result = TableResult(InsertCounts(column_names, job))
        if self._config.get("table.dml-sync", "false").lower() == "true":
            result.wait()
        return result

    def _warn_of_growth(self, relations: Sequence[Relation]) -> None:
        """Says once for a job what it keeps more and more of."""
        if self._session.is_streaming:
            for line in dict.fromkeys(line for each in relations for line in warnings_of(as_node(each))):
                notice(f"warning: {line}")

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
