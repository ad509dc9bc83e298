"""The rows of tables and views of a catalog: views by their queries, tables by their connectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding import BoundColumn, Calculation, Column, Relation
from funke.engine.sql.catalog.objects import CatalogTable, CatalogView, Identifier, TableObject
from funke.engine.sql.parsing import parse
from funke.engine.sql.statements.tables.table_scans import scan_of
from funke.engine.sql.syntax.queries import Query
from funke.engine.sql.syntax.statements import QueryStatement

if TYPE_CHECKING:
    from funke.engine.sql.statements.table_session import TableSession

__all__ = ["relation_of", "renamed"]


def relation_of(
    session: TableSession,
    identifier: Identifier,
    table: TableObject,
    options: Mapping[str, str],
    may_be_unreadable: bool = False,
) -> Relation:
    """The rows of a table or view; options are those of a hint, and only a table has any."""
    if isinstance(table, CatalogTable):
        return scan_of(session, identifier, table, options, may_be_unreadable)
    if options:
        raise ValidationException(
            f"View '{identifier}' cannot be enriched with new options. Hints can only be applied to tables."
        )
    return _view_relation(session, table)


def _view_relation(session: TableSession, view: CatalogView) -> Relation:
    if view.table is not None:
        assert isinstance(view.table, Relation)
        return view.table
    # Bound at each use: the tables that the view names may have been replaced since it was created.
    relation = session.bind(view.query or _query_of(view.expanded_text or view.text))
    names = [each.name for each in view.schema.columns]
    return renamed(relation, names) if names and len(names) == len(relation.columns) else relation


def _query_of(text: str) -> Query:
    (statement,) = parse(text)
    if not isinstance(statement, QueryStatement):
        raise ValidationException(f"the text of a view must be a query, got: {text}")
    return statement.query


def renamed(relation: Relation, names: list[str]) -> Relation:
    """The same rows under other names."""
    if names == [each.name for each in relation.columns]:
        return relation
    columns = tuple(Column(name, each.type, each.time) for name, each in zip(names, relation.columns))
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(relation.columns))
    return Calculation(columns, relation, tuple(same))
