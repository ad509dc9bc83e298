"""Looks into expressions as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax.queries import Query

__all__ = ["parts_of"]


def parts_of(expression: syntax.Expression) -> Iterator[syntax.Expression]:
    """An expression and everything in it, sub-queries left aside."""
    yield expression
    for each in fields(expression):
        yield from _within(getattr(expression, each.name))


def _within(value: Any) -> Iterator[syntax.Expression]:
    if isinstance(value, syntax.Expression):
        yield from parts_of(value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _within(each)
    elif isinstance(value, Query):
        return
