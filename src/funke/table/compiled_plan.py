"""Plans that are stored and run later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from funke.engine.errors import unsupported
from funke.engine.sql.statements.plans.stored_plans import FLINK_VERSION, StoredPlan
from funke.passed_on_names import pass_on_names
from funke.table.explain_detail import ExplainDetail
from funke.table.table_result import TableResult

if TYPE_CHECKING:
    from funke.table.table_environment import TableEnvironment

__all__ = ["CompiledPlan"]

pass_on_names(__name__)


class CompiledPlan:
    """A plan that can be stored: its statements, and the tables and views that they name, as JSON.

    >>> from funke.table import CompiledPlan, EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> for name, connector in (("orders", "datagen"), ("copies", "blackhole")):
    ...     _ = t_env.execute_sql(f"CREATE TABLE {name} (id INT) WITH ('connector' = '{connector}')")
    >>> plan: CompiledPlan = t_env.compile_plan_sql("INSERT INTO copies SELECT id FROM orders WHERE id > 3")
    >>> "INSERT INTO" in plan.as_json_string()  # to be stored, and read by t_env.load_plan()
    True
    """

    def __init__(self, plan: StoredPlan, t_env: TableEnvironment) -> None:
        self._plan = plan
        self._t_env = t_env

    def __str__(self) -> str:
        return self.explain()

    def as_json_string(self) -> str:
        """Return the plan as a text."""
        return self._plan.to_json()

    as_smile_bytes: Any = unsupported("CompiledPlan.as_smile_bytes", "a plan is a JSON string: as_json_string()")

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Write the plan to a file; one that is there already is kept, or an error."""
        self._plan.write(Path(file), ignore_if_exists)

    def get_flink_version(self) -> str:
        """Return the version of Flink whose statements the plan has."""
        return FLINK_VERSION

    def print_json_string(self) -> None:
        """Print the plan as a text."""
        print(self.as_json_string())

    def execute(self) -> TableResult:
        """Start the job."""
        return self._t_env._execute_inserts(self._plan.inserts(self._t_env._session))

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return how it would be run; what was asked for is not in a plan."""
        whole = self._t_env._explain_inserts(self._plan.inserts(self._t_env._session), extra_details)
        return whole[whole.index("== Optimized Execution Plan ==") :]

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print how it would be run."""
        print(self.explain(*extra_details))
