"""How an environment of tables explains what its tables and statements ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from funke.engine.graph.plan_json import to_plan_json
from funke.engine.sql.rules.shared_relations import Reuse, reuse_of
from funke.engine.sql.statements.outcome import InsertPlan, Outcome
from funke.engine.sql.statements.plans.explanations import explain_inserts, explain_relation
from funke.engine.sql.statements.plans.insert_plans import plan_insert
from funke.engine.sql.statements.plans.job_plans import planned_inserts, planned_rows
from funke.engine.sql.statements.statement_executor import execute_statement
from funke.engine.sql.syntax import statements as syntax
from funke.table.environments.table_jobs import collecting_graph, inserting_graph
from funke.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from funke.datastream.stream_execution_environment import StreamExecutionEnvironment
    from funke.engine.sql.binding import Relation
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["ExplainedTables", "detail_names"]

# The detail of an explained plan that only the environment knows: its job.
_JOB = "JSON_EXECUTION_PLAN"


def detail_names(details: Sequence[ExplainDetail]) -> tuple[str, ...]:
    names = {value: name for name, value in vars(ExplainDetail).items() if isinstance(value, int)}
    return tuple(names[each] for each in details)  # type: ignore[index]


class ExplainedTables:
    """The part of an environment that explains."""

    _env: StreamExecutionEnvironment
    _session: TableSession

    @property
    def _reuse(self) -> Reuse:
        return reuse_of(self._session.settings)

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
