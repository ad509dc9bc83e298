"""Traversals of expressions of the parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from funke.engine.sql.syntax import expressions as syntax

__all__ = ["children_of", "comparisons_in", "parts_of", "query_in"]

_COMPARISONS = ("=", "<", "<=", ">", ">=", "between")


def parts_of(expression: syntax.Expression) -> Iterator[syntax.Expression]:
    """An expression and everything in it, sub-queries excepted."""
    yield expression
    for each in children_of(expression):
        yield from parts_of(each)


def query_in(expression: syntax.Expression) -> bool:
    """Whether there is a sub-query in an expression."""
    kinds = (syntax.InQuery, syntax.Exists, syntax.ScalarQuery)
    return any(isinstance(each, kinds) for each in parts_of(expression))


def children_of(expression: syntax.Expression) -> Iterator[syntax.Expression]:
    """The expressions that one is made of, those of its OVER window among them."""
    for each in fields(expression):
        yield from _within(getattr(expression, each.name))


def comparisons_in(condition: syntax.Expression | None) -> Iterator[syntax.Call]:
    """The comparisons that must be true for a condition to be."""
    if isinstance(condition, syntax.Call) and condition.name == "and":
        for each in condition.arguments:
            yield from comparisons_in(each)
    elif isinstance(condition, syntax.Call) and condition.name in _COMPARISONS:
        yield condition


def _within(value: Any) -> Iterator[syntax.Expression]:
    if isinstance(value, syntax.Expression):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _within(each)
    elif isinstance(value, syntax.OverWindow):
        yield from (*value.partition_by, *value.order_by)
