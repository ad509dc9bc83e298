"""Binds ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from funke.engine.sql.binding import BoundColumn, Calculation, Column, Limit, Relation, Sort, SortKey
from funke.engine.sql.binding.scope import rejected
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries

__all__ = ["bind_ordered", "is_ordered", "limited", "sort_key", "without_order"]

Ordered = queries.Select | queries.SetOperation

# Names that no query can write, of columns that rows are sorted by and that results do not show.
_HIDDEN = "\x00sort"


def is_ordered(query: Ordered) -> bool:
    """Whether a query has an order or a limit."""
    return bool(query.order_by or query.offset or query.limit is not None)


def bind_ordered(query: Ordered, bind: Callable[[queries.Query], Relation]) -> Relation:
    """The meaning of a query with an order or a limit."""
    plain = replace(query, order_by=(), limit=None, offset=0)
    relation = bind(plain)
    if not query.order_by:
        return Limit(relation.columns, relation, query.offset, query.limit)
    columns = relation.columns
    positions = [_index_of(item, columns) for item in query.order_by]
    hidden = [item.operand for item, position in zip(query.order_by, positions) if position is None]
    if hidden:
        relation = _with_hidden(plain, hidden, bind)
    numbers = iter(range(len(columns), len(relation.columns)))
    indexes = [next(numbers) if position is None else position for position in positions]
    keys = tuple(sort_key(index, item) for index, item in zip(indexes, query.order_by))
    ordered = Sort(relation.columns, relation, keys, query.offset, query.limit)
    return _first_columns(ordered, columns) if hidden else ordered


def limited(relation: Relation, offset: int, limit: int | None) -> Relation:
    """The rows of a relation from an offset on, up to a limit; by its order, if it has one."""
    if isinstance(relation, Sort | Limit) and relation.limit is None:
        return replace(relation, offset=relation.offset + offset, limit=limit)
    if isinstance(relation, Calculation) and _has_hidden(relation.input):
        return replace(relation, input=limited(relation.input, offset, limit))
    return Limit(relation.columns, relation, offset, limit)


def without_order(relation: Relation) -> Relation:
    """The rows of an inner query, whose order has no meaning unless it decides which rows are left out."""
    if isinstance(relation, Sort) and relation.limit is None and not relation.offset:
        return relation.input
    if isinstance(relation, Calculation) and _has_hidden(relation.input):
        return replace(relation, input=without_order(relation.input))
    return relation


def _has_hidden(relation: Relation) -> bool:
    return isinstance(relation, Sort) and relation.columns[-1].name.startswith(_HIDDEN)


def _index_of(item: syntax.OrderItem, columns: Sequence[Column]) -> int | None:
    """The column of the result that an item means: by its name, or by its number from 1."""
    operand = item.operand
    if isinstance(operand, syntax.Literal) and isinstance(operand.value, int):
        if not 1 <= operand.value <= len(columns):
            raise rejected("Ordinal out of range", operand.position)
        return operand.value - 1
    if isinstance(operand, syntax.Name):
        return next((index for index, each in enumerate(columns) if each.name == operand.parts[-1]), None)
    return None


def _with_hidden(
    query: Ordered, hidden: list[syntax.Expression], bind: Callable[[queries.Query], Relation]
) -> Relation:
    if not isinstance(query, queries.Select):
        raise rejected("a set operation is sorted by columns of its result", query.position)
    items = (syntax.Alias(each, (f"{_HIDDEN}{index}",)) for index, each in enumerate(hidden))
    return bind(replace(query, items=(*query.items, *items)))


def _first_columns(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(columns))
    return Calculation(columns, relation, tuple(same))


def sort_key(index: int, item: syntax.OrderItem) -> SortKey:
    """The column that rows are sorted by for an item of ORDER BY."""
    # NULLs count as the lowest values, unless it is said where they go.
    nulls_first = item.is_ascending if item.nulls_first is None else item.nulls_first
    return SortKey(index, item.is_ascending, nulls_first)
