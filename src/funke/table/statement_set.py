"""Statements that one job runs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.flink_exceptions import TableException
from funke.passed_on_names import pass_on_names
from funke.table.compiled_plan import CompiledPlan
from funke.table.explain_detail import ExplainDetail
from funke.table.table_descriptor import TableDescriptor
from funke.table.table_pipeline import TablePipeline
from funke.table.table_result import TableResult

if TYPE_CHECKING:
    from funke.engine.sql.statements.outcome import InsertPlan
    from funke.table.table import Table
    from funke.table.table_environment import TableEnvironment

__all__ = ["StatementSet"]

pass_on_names(__name__)


class StatementSet:
    """Inserts that run as one job; after `execute()` the set is empty again.

    >>> from funke.table import EnvironmentSettings, StatementSet, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> for name in ("cheap", "dear"):
    ...     _ = t_env.execute_sql(f"CREATE TABLE {name} (price BIGINT) WITH ('connector' = 'blackhole')")
    >>> t_env.create_temporary_view("prices", t_env.from_elements([(3,), (30,)], ["price"]))
    >>> statements: StatementSet = t_env.create_statement_set()
    >>> _ = statements.add_insert_sql("INSERT INTO cheap SELECT * FROM prices WHERE price < 10")
    >>> _ = statements.add_insert_sql("INSERT INTO dear SELECT * FROM prices WHERE price >= 10")
    >>> statements.execute().wait()  # one job
    """

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._plans: list[InsertPlan] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what `Table.insert_into` gave."""
        self._plans.append(self._t_env._without_pending(table_pipeline._plan))
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add a statement INSERT INTO."""
        self._plans.append(self._t_env._insert_plan(stmt))
        return self

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Add the rows of a table for another one."""
        return self.add(table.insert_into(target_path_or_descriptor, overwrite))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return how it would be run."""
        return self._t_env._explain_inserts(tuple(self._plans), extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print how it would be run."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start the job that does all of it."""
        if not self._plans:
            raise TableException("No operators defined in streaming topology. Cannot execute.")
        plans, self._plans = tuple(self._plans), []
        return self._t_env._execute_inserts(plans)

    def attach_as_datastream(self) -> None:
        """Let the next `execute()` of the stream environment run all of it."""
        plans, self._plans = tuple(self._plans), []
        self._t_env._attach_inserts(plans)

    def compile_plan(self) -> CompiledPlan:
        """Return the plan of all of it, to be stored."""
        return self._t_env._compiled(self._plans)
