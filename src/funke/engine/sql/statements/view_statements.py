"""Statements on views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from funke.engine.errors import SqlValidationError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.catalog.objects import CatalogView, Identifier, SchemaDefinition
from funke.engine.sql.statements.outcome import OK, Outcome
from funke.engine.sql.statements.table_session import TableSession
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax import statements as syntax

__all__ = ["alter_view", "create_view", "schema_of_relation"]


def create_view(session: TableSession, statement: syntax.CreateView) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    repeated = next((name for name in statement.columns if statement.columns.count(name) > 1), None)
    if repeated is not None:
        position = statement.position
        raise SqlValidationError(
            f"SQL validation failed. A column with the same name `{repeated}` has been defined at {position}."
        )
    view = _view(session, statement.query, statement.text, statement.columns, statement.comment or "")
    if statement.is_temporary:
        session.catalogs.create_temporary(identifier, view, statement.if_not_exists)
    else:
        session.catalogs.create_table(identifier, view, statement.if_not_exists)
    return OK


def alter_view(session: TableSession, statement: syntax.AlterView) -> Outcome:
    identifier = session.catalogs.qualify(statement.path)
    view = _existing(session, identifier)
    if statement.query is None:
        new = session.catalogs.qualify(statement.new_path)
        session.catalogs.rename_table(identifier, new.name, False)
    else:
        changed = _view(session, statement.query, statement.text, (), view.comment)
        session.catalogs.alter_table(identifier, changed, False)
    return OK


def schema_of_relation(relation: Relation, names: Sequence[str] = ()) -> SchemaDefinition:
    """The columns of a query as those of a table, maybe under other names."""
    used = names or [each.name for each in relation.columns]
    columns = (syntax.ColumnDefinition(name, each.type) for name, each in zip(used, relation.columns))
    return SchemaDefinition(tuple(columns))


def _existing(session: TableSession, identifier: Identifier) -> CatalogView:
    view = session.catalogs.find(identifier)
    if not isinstance(view, CatalogView):
        if view is None:
            raise ValidationException(f"View {identifier} doesn't exist or is a temporary view.")
        raise ValidationException("ALTER VIEW for a table is not allowed")
    return view


def _view(session: TableSession, query: queries.Query, text: str, names: Sequence[str], comment: str) -> CatalogView:
    qualified = _qualified(query, session, _names_of_with(query))
    # Bound now, too, so that a view that nobody could read is rejected when it is created.
    relation = session.bind(qualified)
    if names and len(names) != len(relation.columns):
        raise ValidationException(
            f"VIEW definition and input fields not match:\n\tDef fields: [{', '.join(names)}].\n"
            f"\tInput fields: [{', '.join(each.name for each in relation.columns)}]."
        )
    return CatalogView(schema_of_relation(relation, names), text, qualified, comment=comment, expanded_text=text)


def _names_of_with(part: Any) -> frozenset[str]:
    """The names that WITH defines anywhere in a query."""
    if isinstance(part, tuple):
        return frozenset().union(*map(_names_of_with, part)) if part else frozenset()
    if not is_dataclass(part) or isinstance(part, type):
        return frozenset()
    own = {name for name, _, _ in part.tables} if isinstance(part, queries.With) else set()
    return frozenset(own).union(*(_names_of_with(getattr(part, each.name)) for each in fields(part)))


def _qualified(part: Any, session: TableSession, with_names: frozenset[str]) -> Any:
    """A query whose tables have full names: they mean the same whatever is current when the view is read."""
    if isinstance(part, tuple):
        return tuple(_qualified(each, session, with_names) for each in part)
    if isinstance(part, queries.InlineTable) or not is_dataclass(part) or isinstance(part, type):
        return part
    if isinstance(part, queries.TableRef):
        if len(part.path) == 1 and part.path[0] in with_names:
            return part
        identifier = session.catalogs.qualify(part.path)
        path = (identifier.catalog, identifier.database, identifier.name)
        return replace(part, path=path, alias=part.alias or part.path[-1])
    if not _may_hold_tables(part):
        return part
    changes = {each.name: _qualified(getattr(part, each.name), session, with_names) for each in fields(part)}
    return replace(part, **changes)


def _may_hold_tables(part: Any) -> bool:
    return type(part).__module__.startswith("funke.engine.sql.syntax.")
