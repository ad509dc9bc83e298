"""The way of a table's rows into another table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.passed_on_names import pass_on_names
from funke.table.catalog import ObjectIdentifier
from funke.table.compiled_plan import CompiledPlan
from funke.table.explain_detail import ExplainDetail
from funke.table.table_result import TableResult

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.table.table_environment import TableEnvironment

__all__ = ["TablePipeline"]

pass_on_names(__name__)


class TablePipeline:
    """Rows that go to a table, alone by `execute()` or with others in a StatementSet.

    >>> from funke.table import EnvironmentSettings, TableEnvironment, TablePipeline
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> _ = t_env.execute_sql("CREATE TABLE copies (id INT) WITH ('connector' = 'blackhole')")
    >>> pipeline: TablePipeline = t_env.sql_query("SELECT 7 AS id").insert_into("copies")
    >>> pipeline.get_sink_identifier().get_object_name()  # pipeline.execute() starts the job
    'copies'
    """

    def __init__(self, plan: InsertPlan, t_env: TableEnvironment) -> None:
        self._plan = plan
        self._t_env = t_env

    def __str__(self) -> str:
        return f"TablePipeline with sink table '{self._plan.identifier or self._plan.name}'"

    def execute(self) -> TableResult:
        """Start writing."""
        return self._t_env._execute_inserts((self._t_env._without_pending(self._plan),))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return how it would be run."""
        return self._t_env._explain_inserts((self._plan,), extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print how it would be run."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """Return the name of the table; None if it has none."""
        return None if self._plan.identifier is None else ObjectIdentifier(self._plan.identifier)

    def compile_plan(self) -> CompiledPlan:
        """Return the plan, to be stored; of what SQL statements say only."""
        return self._t_env._compiled((self._plan,))
