"""Binds queries: finds tables, names columns, binds conditions and expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    Calculation,
    Column,
    Constants,
    Relation,
    UnionAll,
    has_query,
    time_of,
)
from funke.engine.sql.binding.constant_queries import constant_rows, constant_value, is_computed_when_run
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.grouped_queries import (
    GroupedBinder,
    aggregate_in,
    distinct_rows,
    is_grouped,
    reject_aggregates_in_joins,
)
from funke.engine.sql.binding.joins.regular_joins import check_joins, distinct_names
from funke.engine.sql.binding.ordered_queries import bind_ordered, is_ordered
from funke.engine.sql.binding.over.batch_over_queries import BatchOverBinder
from funke.engine.sql.binding.over.grouped_over_queries import GroupColumns, groups_of_windows, reject_over_in_having
from funke.engine.sql.binding.over.over_queries import OverBinder, has_over
from funke.engine.sql.binding.scope import Scope, ScopeColumn, not_a_row, rejected
from funke.engine.sql.binding.set_operations import of_relations, words_of
from funke.engine.sql.binding.source_binder import ONE_ROW, SourceBinder, source_hints
from funke.engine.sql.binding.state_ttl_hints import with_group_ttl
from funke.engine.sql.binding.subqueries.subquery_joins import with_subquery_joins
from funke.engine.sql.binding.syntax_parts import query_in
from funke.engine.sql.binding.table_aggregations import bind_table_aggregation, table_aggregate_in
from funke.engine.sql.binding.windows.group_windows import with_group_window
from funke.engine.sql.binding.windows.row_windows import with_row_windows
from funke.engine.sql.binding.windows.window_grouping import with_windows
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical import RowType, common_type

__all__ = ["QueryBinder"]

# Parts of a SELECT that the parser knows and the binder rejects.
_REJECTED = {"qualify": "QUALIFY"}


class QueryBinder(SourceBinder):
    """Binds queries against a catalog."""

    def bind(self, query: queries.Query) -> Relation:
        """The meaning of a query."""
        return with_subquery_joins(self.bind_query(query))

    def bind_query(self, query: queries.Query) -> Relation:
        if isinstance(query, (queries.Select, queries.SetOperation)) and is_ordered(query):
            return bind_ordered(query, self.bind_query)
        if isinstance(query, queries.Select):
            return self._bind_select(query)
        if isinstance(query, queries.Values):
            return self._bind_values(query)
        if isinstance(query, queries.SetOperation):
            return self._bind_set_operation(query)
        if isinstance(query, queries.With):
            return self._with_tables(query).bind_query(query.query)
        raise UnsupportedFeatureError(f"{type(query).__name__} in SQL")

    def _bind_select(self, select: queries.Select) -> Relation:
        for name, clause in _REJECTED.items():
            if getattr(select, name):
                raise UnsupportedFeatureError(f"{clause} in SQL")
        check_joins(select.source)
        reject_aggregates_in_joins(select.source, self.find_aggregate)
        hints = source_hints(select, is_grouped(select, self.find_aggregate))
        table, scope = replace(self, hints=hints).bind_rows(select)
        illegal = aggregate_in(select.where, self.find_aggregate)
        if illegal is not None:
            raise rejected("Aggregate expression is illegal in WHERE clause", illegal.position)
        for each in (select.where, select.having):
            scope.reject_shared(each)
        if select.where is not None and query_in(select.where) and has_query(self.binder_of(scope).bind(select.where)):
            # Behind the join that it becomes times are plain timestamps.
            scope = scope.without_times()
        select, source, scope = with_group_window(select, table, scope, self.session, self.is_streaming)
        binder = self.binder_of(scope)
        condition = None if select.where is None else binder.bind_condition(select.where, "WHERE")
        table_aggregate = table_aggregate_in(select)
        if table_aggregate is not None:
            relation: Relation = bind_table_aggregation(select, table_aggregate, source, binder, condition)
        elif is_grouped(select, self.find_aggregate):
            groups = self._bind_groups(select, source, scope, binder, condition)
            relation = with_group_ttl(groups, select.source, hints.ttls)
        elif has_over(select):
            relation = self._bind_over(select, source, scope, binder, condition)
        else:
            names, bound = self._bind_items(select.items, scope, binder)
            columns = _columns(names, bound)
            if any(map(has_query, bound)):
                columns = tuple(replace(each, time=None) for each in columns)
            relation = Calculation(columns, source, tuple(bound), condition)
        return distinct_rows(relation) if select.is_distinct else relation

    def _bind_groups(
        self,
        select: queries.Select,
        source: Relation,
        scope: Scope,
        plain: ExpressionBinder,
        where: BoundExpression | None,
    ) -> Relation:
        reject_over_in_having(select)
        binder = GroupedBinder(scope, self.session, plain, select.group_by, self.find_aggregate)
        if has_over(select):
            groups = groups_of_windows(select, binder, source, where)
            return self._bind_over(select, groups, scope, GroupColumns(scope, self.session, binder, groups), None)
        having = None if select.having is None else binder.bind_condition(select.having, "HAVING")
        names, bound = self._bind_items(select.items, scope, binder)
        groups = Calculation(_columns(names, bound), binder.aggregation(source, where), tuple(bound), having)
        return with_row_windows(with_windows(groups))

    def _bind_over(
        self,
        select: queries.Select,
        source: Relation,
        scope: Scope,
        plain: ExpressionBinder,
        where: BoundExpression | None,
    ) -> Relation:
        kind = OverBinder if self.is_streaming else BatchOverBinder
        width = len(source.columns)
        binder = kind(scope, self.session, plain, width, self.find_aggregate, dict(select.windows))
        names, bound = self._bind_items(select.items, scope, binder)
        relation = binder.relation(source, where)
        return Calculation(_columns(names, bound), relation, tuple(map(binder.placed, bound)))

    def _bind_items(
        self, items: tuple[syntax.Expression, ...], scope: Scope, binder: ExpressionBinder
    ) -> tuple[list[str], list[BoundExpression]]:
        names: list[str] = []
        bound: list[BoundExpression] = []
        for item in self._written_out(items, scope, binder):
            if isinstance(item, syntax.Star):
                star_columns = scope.all_of(item)
                bound += binder.bind_star(star_columns, item)
                names += [column.name for column in star_columns]
                continue
            if isinstance(item, syntax.Alias) and len(item.names) > 1:
                # The fields of one row: of an aggregate function that gives several values.
                bound += binder.bind_fields(binder.bind(item), item)
                names += item.names
                continue
            bound.append(binder.bind(item))
            if isinstance(item, syntax.Alias):
                names.append(item.names[0])
            elif isinstance(item, syntax.Name):
                names.append(item.parts[-1])
            else:
                names.append(f"EXPR${len(names)}")
        return distinct_names(names), bound

    def _written_out(
        self, items: tuple[syntax.Expression, ...], scope: Scope, binder: ExpressionBinder
    ) -> Iterator[syntax.Expression]:
        """The items, with the fields of a row instead of `row.*`."""
        for item in items:
            row = scope.row_of(item) if isinstance(item, syntax.Star) else None
            if row is None or not isinstance(item, syntax.Star):
                yield item
                continue
            data_type = self.expression_binder(scope).bind(row).type
            if not isinstance(data_type, RowType):
                raise not_a_row(item)
            yield from (syntax.Name((*row.parts, each), position=item.position) for each in data_type.names)

    def _with_tables(self, query: queries.With) -> QueryBinder:
        tables: dict[str, Relation] = {}

        def find(path: tuple[str, ...], *options: Any) -> Relation | None:
            return tables[path[0]] if len(path) == 1 and path[0] in tables else self.find_table(path, *options)

        # `find` sees `tables` as it grows: a table of WITH may read those before it, not itself, and hides one of the
        # catalog.
        inner = replace(self, find_table=find)
        for name, column_names, each in query.tables:
            relation = inner.bind_query(each)
            names = column_names or tuple(column.name for column in relation.columns)
            if len(names) != len(relation.columns):
                raise rejected("Number of columns must match number of query columns", each.position)
            tables[name] = _renamed(relation, names)
        return inner

    def _bind_values(self, values: queries.Values) -> Relation:
        binder = ExpressionBinder(Scope(), self.session, self.find_function)
        rows = [[binder.bind(each) for each in row] for row in values.rows]
        if len({len(row) for row in rows}) > 1:
            raise rejected("Values passed to VALUES operator must have compatible types", values.position)
        types = [common_type([row[index].type for row in rows]) for index in range(len(rows[0]))]
        if any(each is None for each in types):
            raise rejected("Values passed to VALUES operator must have compatible types", values.position)
        columns = tuple(Column(f"EXPR${index}", each) for index, each in enumerate(types) if each is not None)
        if any(map(is_computed_when_run, (each for row in rows for each in row))):
            each_row = [
                Calculation(_columns([column.name for column in columns], row), ONE_ROW, tuple(row)) for row in rows
            ]
            typed = tuple(self._as_types(each, columns) for each in each_row)
            return typed[0] if len(typed) == 1 else UnionAll(columns, typed)
        return Constants(columns, tuple(self._constant_row(row, columns) for row in rows))

    def _constant_row(self, row: list[BoundExpression], columns: tuple[Column, ...]) -> tuple[Any, ...]:
        """The values of a row, as the columns have them: rows may be of other types, such as 0.1 beside 1e0."""
        values = tuple(map(constant_value, row))
        is_same = [type(each.type) is type(column.type) for each, column in zip(row, columns)]
        if all(same or value is None or isinstance(value, str | bytes) for same, value in zip(is_same, values)):
            return values
        own = Constants(_columns([column.name for column in columns], row), (values,))
        (typed,) = constant_rows(self._as_types(own, columns))
        return typed

    def _bind_set_operation(self, query: queries.SetOperation) -> Relation:
        words = words_of(query)
        left, right = self.bind_query(query.left), self.bind_query(query.right)
        if len(left.columns) != len(right.columns):
            raise rejected(f"Column count mismatch in {words}", queries.items_position(query.right))
        columns: list[Column] = []
        for one, other in zip(left.columns, right.columns):
            shared_type = common_type([one.type, other.type])
            if shared_type is None:
                index = queries.item_position(query.left, len(columns))
                raise rejected(f"Type mismatch in column {len(columns) + 1} of {words}", index)
            # Flink takes the role of the left side for both; rows of a side that has none would have no event time.
            columns.append(Column(one.name, shared_type, one.time if one.time is other.time else None))
        result_columns = tuple(columns)
        # The rows of a union come under one name, whichever side they are of.
        own = result_columns if query.kind == "union" else _named(result_columns, right.columns)
        return of_relations(query, result_columns, self._as_types(left, result_columns), self._as_types(right, own))

    def _as_types(self, relation: Relation, columns: tuple[Column, ...]) -> Relation:
        """The same rows under the names of a set, cast where their types are narrower."""
        if all(own.type == column.type for own, column in zip(relation.columns, columns)):
            names = tuple(each.name for each in columns)
            return relation if names == tuple(each.name for each in relation.columns) else _renamed(relation, names)
        scope = Scope(tuple(ScopeColumn(f"c{index}", own.type) for index, own in enumerate(relation.columns)))
        binder = ExpressionBinder(scope, self.session, self.find_function)
        casts = [syntax.Cast(syntax.Name((f"c{index}",)), column.type) for index, column in enumerate(columns)]
        return Calculation(columns, relation, tuple(map(binder.bind, casts)))


def _columns(names: list[str], bound: list[BoundExpression]) -> tuple[Column, ...]:
    return tuple(Column(name, each.type, time_of(each)) for name, each in zip(names, bound))


def _named(columns: tuple[Column, ...], named: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(replace(each, name=own.name) for each, own in zip(columns, named))


def _renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    columns = tuple(Column(name, column.type, column.time) for name, column in zip(names, relation.columns))
    same = tuple(
        BoundColumn(column.type, index, column.name, column.time) for index, column in enumerate(relation.columns)
    )
    return Calculation(columns, relation, same)
