"""What a table says of itself: its columns, and how its query would be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.datastream.html_view import html_view
from funke.engine.types.logical import to_sql_text
from funke.table.catalog import ResolvedSchema
from funke.table.explain_detail import ExplainDetail
from funke.table.results.result_schema import declared_schema_of, resolved_schema_of, table_schema_of
from funke.table.table_schema import TableSchema

if TYPE_CHECKING:
    from funke.engine.sql.binding import Relation
    from funke.engine.sql.statements.tables.resolved_table import ResolvedTable
    from funke.table.table_environment import TableEnvironment

__all__ = ["DescribedTable"]


class DescribedTable:
    """The part of a table that describes it."""

    _relation: Relation
    _t_env: TableEnvironment
    _declared: ResolvedTable | None

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return how the query would be run."""
        return self._t_env._explain(self._relation, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print how the query would be run."""
        print(self.explain(*extra_details))

    def get_schema(self) -> TableSchema:
        """Return names and types of the columns."""
        return table_schema_of(self.get_resolved_schema())

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return names and types of the columns."""
        if self._declared is not None:
            return declared_schema_of(self._declared)
        return resolved_schema_of(self._relation.columns)

    def print_schema(self) -> None:
        """Print names and types of the columns."""
        print(self.get_resolved_schema())

    def __repr__(self) -> str:
        # Not its text, which would give the table a name.
        return f"Table({', '.join(f'{name} {kind}' for name, kind in self._shown_columns())})"

    def _repr_html_(self) -> str:
        note = "execute() runs its query; limit(10).execute().print() shows ten rows"
        return html_view("Table", ("column", "type"), self._shown_columns(), note)

    def _shown_columns(self) -> list[tuple[str, str]]:
        return [(each.name, to_sql_text(each.type)) for each in self._relation.columns]
