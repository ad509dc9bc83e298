"""Queries: SELECT with its clauses, set operations, VALUES and WITH."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.parsing.relation_grammar import RelationGrammar
from funke.engine.sql.syntax.expressions import Alias, Call, Expression, OrderItem, OverWindow, Star
from funke.engine.sql.syntax.position import Position
from funke.engine.sql.syntax.queries import GroupBy, Query, Select, SetKind, SetOperation, SubQuery, Values, With

__all__ = ["QueryGrammar"]

Keys = tuple[Expression, ...]


class _Order(NamedTuple):
    """ORDER BY, LIMIT and OFFSET."""

    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None
    offset: int = 0


class QueryGrammar(RelationGrammar):
    """Reads queries."""

    def query(self) -> Query:
        """A query with all that may follow it."""
        position = self.position()
        if not self.accept("WITH"):
            return self._ordered_query()
        if self.at("RECURSIVE"):
            raise UnsupportedFeatureError("WITH RECURSIVE")
        tables = self.separated(self._common_table)
        return With(tables, self._ordered_query(), position=position)

    def _common_table(self) -> tuple[str, tuple[str, ...], Query]:
        name = self.identifier()
        columns = self.names() if self.at("(") else ()
        self.expect("AS", "(")
        query = self.query()
        self.expect(")")
        return name, columns, query

    def _ordered_query(self) -> Query:
        query = self._union()
        order = self._order()
        return query if order == _Order() else _with_order(query, order)

    def _order(self) -> _Order:
        order_by = self.order_by()
        limit, offset = None, 0
        if self.accept("LIMIT"):
            limit = None if self.accept("ALL") else self.whole_number()
        if self.accept("OFFSET"):
            offset = self.whole_number()
            self.accept_any("ROW", "ROWS")
        if self.accept("FETCH"):
            self.expect_any("FIRST", "NEXT")
            limit = self.whole_number()
            self.expect_any("ROW", "ROWS")
            self.expect("ONLY")
        return _Order(order_by, limit, offset)

    # Set operations

    def _union(self) -> Query:
        # INTERSECT binds more tightly than UNION and EXCEPT, which are read from left to right.
        left = self._intersection()
        while word := self.accept_any("UNION", "EXCEPT", "MINUS"):
            if word == "MINUS":
                self.fail("MINUS is not allowed under the current SQL conformance level; use EXCEPT", self.before())
            is_all = self.accept_any("ALL", "DISTINCT") == "ALL"
            kind: SetKind = "union" if word == "UNION" else "except"
            left = SetOperation(kind, left, self._intersection(), is_all, position=left.position)
        return left

    def _intersection(self) -> Query:
        left = self._term()
        while self.accept("INTERSECT"):
            is_all = self.accept_any("ALL", "DISTINCT") == "ALL"
            left = SetOperation("intersect", left, self._term(), is_all, position=left.position)
        return left

    def _term(self) -> Query:
        position = self.position()
        if self.at("SELECT"):
            return self._select()
        if self.accept("VALUES"):
            rows = self.separated(self._values_row)
            return Values(rows, position=self.span(position))
        if self.accept("TABLE"):
            return Select((Star(),), self.table_reference(), position=position)
        self.expect("(")
        query = self.query()
        self.expect(")")
        return query

    def _values_row(self) -> tuple[Expression, ...]:
        is_row = self.at_any("(", "ROW")
        row = self.expression()
        return row.arguments if is_row and isinstance(row, Call) and row.name == "row" else (row,)

    # SELECT

    def _select(self) -> Query:
        position = self.position()
        self.expect("SELECT")
        hints = self.hints()
        self.accept("STREAM")
        is_distinct = self.accept_any("DISTINCT", "ALL") == "DISTINCT"
        items = self.separated(self._item)
        if not self.accept("FROM"):
            return Select(items, is_distinct=is_distinct, hints=hints, position=position)
        source = self.relation()
        where = self.expression() if self.accept("WHERE") else None
        group_by = self._group_by() if self.accept("GROUP") else None
        having = self.expression() if self.accept("HAVING") else None
        windows = self.separated(self._window) if self.accept("WINDOW") else ()
        qualify = self.expression() if self.accept("QUALIFY") else None
        return Select(
            items, source, where, group_by, having, qualify, is_distinct, windows, hints=hints, position=position
        )

    def _item(self) -> Expression:
        position = self.position()
        if self.accept("*"):
            return Star(position=position)
        if self.at_identifier() and self._at_table_star():
            return self._table_star(position)
        operand = self.expression()
        name = self.alias()
        return operand if name is None else Alias(operand, (name,), position=self.span(position))

    def _at_table_star(self) -> bool:
        distance = 1
        while self.ahead(distance).key == ".":
            if self.ahead(distance + 1).key == "*":
                return True
            distance += 2
        return False

    def _table_star(self, position: Position) -> Star:
        parts = [self.identifier()]
        position = self.span(position)
        while self.accept(".") and not self.accept("*"):
            parts.append(self.identifier())
            position = self.span(position)
        return Star(tuple(parts), position=position)

    def _window(self) -> tuple[str, OverWindow]:
        name = self.identifier()
        self.expect("AS")
        return name, self.over_window()

    # GROUP BY

    def _group_by(self) -> GroupBy:
        """Every item gives some sets of keys; the query has each combination of them."""
        self.expect("BY")
        is_distinct = self.accept_any("DISTINCT", "ALL") == "DISTINCT"
        items = self.separated(self._group_item)
        # GROUP BY a, ROLLUP (b) has the sets (a, b) and (a).
        sets = [tuple(key for part in parts for key in part) for parts in product(*items)]
        return GroupBy(tuple(_without_repetition(sets)) if is_distinct else tuple(sets))

    def _group_item(self) -> list[Keys]:
        if self.accept("GROUPING", "SETS"):
            sets = self.in_parentheses(self._group_item)
            return [keys for each in sets for keys in each]
        if self.accept("ROLLUP"):
            parts = self.in_parentheses(self._group_keys)
            return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
        if self.accept("CUBE"):
            parts = self.in_parentheses(self._group_keys)
            choices = product((True, False), repeat=len(parts))
            return [_joined(part for part, chosen in zip(parts, choice) if chosen) for choice in choices]
        return [self._group_keys()]

    def _group_keys(self) -> Keys:
        """One key, or several in parentheses."""
        if self.accept("(", ")"):
            return ()
        is_list = self.at("(")
        keys = self.expression()
        return keys.arguments if is_list and isinstance(keys, Call) and keys.name == "row" else (keys,)


def _joined(parts: Iterable[Keys]) -> Keys:
    return tuple(key for part in parts for key in part)


def _without_repetition(sets: list[Keys]) -> list[Keys]:
    return [each for index, each in enumerate(sets) if each not in sets[:index]]


def _with_order(query: Query, order: _Order) -> Query:
    """Sort and cut a query; one that is sorted or cut already, or cannot be, becomes a subquery."""
    if isinstance(query, (Select, SetOperation)) and _Order(query.order_by, query.limit, query.offset) == _Order():
        return replace(query, order_by=order.order_by, limit=order.limit, offset=order.offset)
    source = SubQuery(query, position=query.position)
    return Select((Star(),), source, order_by=order.order_by, limit=order.limit, offset=order.offset)
