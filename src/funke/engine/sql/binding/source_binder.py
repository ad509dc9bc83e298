"""Binds FROM: tables, joins of all kinds, queries and table functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from funke.engine.errors import FunkeError, UnsupportedFeatureError
from funke.engine.sql.binding import BoundExpression, Column, Constants, Relation
from funke.engine.sql.binding.changelog_functions import bind_changelog_function
from funke.engine.sql.binding.expression_binder import ExpressionBinder, OuterColumns
from funke.engine.sql.binding.grouped_queries import AggregateFinder, plain_aggregate
from funke.engine.sql.binding.joins.join_hints import JoinHint, bind_join_hints, with_join_hints
from funke.engine.sql.binding.joins.join_times import has_join, with_join_times
from funke.engine.sql.binding.joins.lateral_joins import bind_lateral_join
from funke.engine.sql.binding.joins.lookup_hints import LookupHint, bind_lookup_hints
from funke.engine.sql.binding.joins.lookup_joins import bind_lookup_join, is_temporal
from funke.engine.sql.binding.joins.regular_joins import bind_join, conditions_of
from funke.engine.sql.binding.joins.snapshot_joins import bind_snapshot_join, is_snapshot_join
from funke.engine.sql.binding.ordered_queries import without_order
from funke.engine.sql.binding.patterns.match_recognize import bind_match_recognize
from funke.engine.sql.binding.scope import MissingName, Scope, ScopeColumn, names_of, rejected
from funke.engine.sql.binding.state_ttl_hints import bind_ttl_hints, with_join_ttls
from funke.engine.sql.binding.subqueries.correlations import (
    TableFunctionFinder,
    bind_correlation,
    is_correlated,
    plain_table_function,
)
from funke.engine.sql.binding.syntax_parts import comparisons_in
from funke.engine.sql.binding.windows.window_tables import bind_window_table
from funke.engine.sql.functions.catalog import find_function
from funke.engine.sql.functions.function import Function, Session
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical.atomic_types import BooleanType

__all__ = ["ONE_ROW", "SourceBinder", "SourceHints", "source_hints"]

# Finds a table or view by its path, with the options of a hint if there are any; None if there is none.
FindTable = Callable[..., Relation | None]

# The input of SELECT 1: one row. Its only column is not visible; a batch without columns would have no rows.
ONE_ROW = Constants((Column("", BooleanType(False)),), ((True,),))


@dataclass(frozen=True)
class SourceHints:
    """The hints of a query for the tables of its FROM."""

    lookups: Mapping[str, LookupHint] = field(default_factory=dict)
    ttls: Mapping[str, str] = field(default_factory=dict)
    joins: tuple[JoinHint, ...] = ()


def source_hints(select: queries.Select, is_grouped: bool) -> SourceHints:
    """The hints of a query; rejects those that do not fit."""
    return SourceHints(
        bind_lookup_hints(select.hints, select.source),
        bind_ttl_hints(select.hints, select.source, is_grouped),
        bind_join_hints(select.hints, select.source),
    )


@dataclass(frozen=True)
class SourceBinder:
    """Binds what queries read; `QueryBinder` binds the queries themselves."""

    find_table: FindTable
    session: Session = field(default_factory=Session)
    find_function: Callable[[str], Function | None] = find_function
    find_aggregate: AggregateFinder = plain_aggregate
    find_table_function: TableFunctionFinder = plain_table_function
    # The missing part of a path: a catalog, a database, or the table itself.
    find_missing: Callable[[tuple[str, ...]], MissingName] = lambda path: MissingName(path[-1])
    # Whether rows have no end. Then ORDER BY and OVER mean something else, or are rejected.
    is_streaming: bool = True
    # Those of the query whose tables are bound.
    hints: SourceHints = SourceHints()
    # The columns of the query around this one.
    outer: OuterColumns | None = None

    def bind_query(self, query: queries.Query) -> Relation:
        """The meaning of a query, with sub-queries still in its expressions."""
        raise NotImplementedError

    def bind_rows(self, select: queries.Select) -> tuple[Relation, Scope]:
        """The relation that a query reads, and the names of its columns."""
        table, scope = self._bind_source(select.source)
        return self._with_times(table, scope, select.where) if self.is_streaming and has_join(table) else (table, scope)

    def _with_times(self, joined: Relation, scope: Scope, where: syntax.Expression | None) -> tuple[Relation, Scope]:
        """The rows of a join with the time attributes that it keeps, given the conditions behind WHERE."""
        binder = self.expression_binder(scope)
        conditions: list[BoundExpression] = []
        for each in comparisons_in(where):
            # Errors are reported when all of WHERE is bound.
            with suppress(FunkeError):
                conditions += conditions_of(binder.bind(each))
        table = with_join_times(joined, conditions)
        return table, Scope(tuple(replace(own, time=each.time) for own, each in zip(scope.columns, table.columns)))

    def _bind_source(self, source: queries.Relation | None) -> tuple[Relation, Scope]:
        if source is None:
            return ONE_ROW, Scope()
        # LATERAL TABLE(f(a)) and UNNEST use columns of the tables before them, so the left side is bound first.
        if is_correlated(source):
            left = self._bind_source(source.left if isinstance(source, queries.Join) else None)
            return bind_correlation(source, left, self.expression_binder, self.find_table_function)
        if is_temporal(source):
            assert isinstance(source, queries.Join) and isinstance(source.right, queries.TableRef)
            now = self._find(replace(source.right, as_of=None))
            left = self._bind_source(source.left)
            return bind_lookup_join(source, left, now, self.expression_binder, self.hints.lookups)
        if is_snapshot_join(source):
            return bind_snapshot_join(source, self._bind_source, self.expression_binder, self.is_streaming)
        if isinstance(source, queries.Join) and isinstance(source.right, queries.Lateral):
            return self._bind_lateral(source, source.right)
        if isinstance(source, queries.Join):
            sides = self._bind_source(source.left), self._bind_source(source.right)
            joined = with_join_ttls(bind_join(source, *sides, self.expression_binder), source, self.hints.ttls)
            return with_join_hints(joined, source, self.hints.joins)
        if isinstance(source, queries.TableRef):
            relation = self._find(source)
            name: str | None = source.path[-1]
        elif isinstance(source, queries.InlineTable):
            assert isinstance(source.table, Relation)
            relation, name = source.table, None
        elif isinstance(source, (queries.SubQuery, queries.Lateral)):
            relation, name = self.bind_query(source.query), None
        else:
            relation, name = self._bind_function(source), None
        return _named_constants(source, relation), self._named_scope(source, relation, name)

    @staticmethod
    def _named_scope(source: queries.Relation, relation: Relation, name: str | None = None) -> Scope:
        names = names_of(source, [column.name for column in relation.columns])
        table = source.alias or name
        pairs = zip(names, relation.columns)
        return Scope(tuple(ScopeColumn(each, column.type, table, column.time) for each, column in pairs))

    def expression_binder(self, scope: Scope) -> ExpressionBinder:
        """The binder of expressions that may not have queries in them."""
        return ExpressionBinder(scope, self.session, self.find_function, outer=self.outer)

    def binder_of(self, scope: Scope) -> ExpressionBinder:
        """The binder of expressions that may have queries in them."""
        return ExpressionBinder(scope, self.session, self.find_function, self._bind_inner, self.outer)

    def _bind_function(self, source: queries.Relation) -> Relation:
        """The meaning of a function that turns the rows of a relation into others."""
        if isinstance(source, queries.WindowFunction):
            return bind_window_table(source, self._bind_source, self.session, self.is_streaming)
        if isinstance(source, queries.ChangelogFunction):
            return bind_changelog_function(source, self._bind_source)
        if isinstance(source, queries.Pattern):
            return bind_match_recognize(
                source, self._bind_source, self.expression_binder, self.find_aggregate, self.session, self.is_streaming
            )
        raise UnsupportedFeatureError(f"{type(source).__name__} behind FROM in SQL")

    def _bind_inner(self, query: queries.Query, outer: OuterColumns) -> Relation:
        """The meaning of a query that sees the columns of another one; its order makes no difference."""
        return without_order(replace(self, outer=outer).bind_query(query))

    def _bind_lateral(self, join: queries.Join, lateral: queries.Lateral) -> tuple[Relation, Scope]:
        left, left_scope = self._bind_source(join.left)
        columns = OuterColumns(self.expression_binder(left_scope))
        relation = self._bind_inner(lateral.query, columns)
        right = relation, self._named_scope(lateral, relation)
        return bind_lateral_join(join, (left, left_scope), right, columns.used, self.expression_binder)

    def _find(self, table: queries.TableRef) -> Relation:
        if table.as_of is not None:
            raise UnsupportedFeatureError("FOR SYSTEM_TIME AS OF in SQL")
        relation = self.find_table(table.path, table.options) if table.options else self.find_table(table.path)
        if relation is None:
            missing = self.find_missing(table.path)
            raise rejected(f"Object '{missing.name}' not found{missing.hint}", table.position)
        return relation


def _named_constants(source: queries.Relation, relation: Relation) -> Relation:
    """VALUES with its column aliases as names; other relations keep their own names."""
    if not isinstance(relation, Constants) or not source.column_aliases:
        return relation
    names = names_of(source, [column.name for column in relation.columns])
    return replace(relation, columns=tuple(replace(each, name=own) for each, own in zip(relation.columns, names)))
