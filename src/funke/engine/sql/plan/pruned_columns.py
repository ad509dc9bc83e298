"""The columns that pruning keeps, and the new indexes of those that aggregates read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.plan.node import Moves

__all__ = ["kept_columns", "moved_aggregate", "used_by"]


def kept_columns(needed: frozenset[int]) -> list[int]:
    """The needed columns, one at least: a batch without columns has no rows."""
    return sorted(needed or {0})


def used_by(aggregates: Iterable[BoundAggregate]) -> set[int]:
    """The columns that aggregates look at."""
    used: set[int] = set()
    for each in aggregates:
        # An argument below 0 is a word of the call, not a column.
        used.update(index for index in each.arguments if index >= 0)
        if each.condition is not None:
            used.add(each.condition)
    return used


def moved_aggregate(aggregate: BoundAggregate, moves: Moves) -> BoundAggregate:
    """The aggregate with its columns at their new indexes."""
    arguments = tuple(index if index < 0 else moves[index] for index in aggregate.arguments)
    condition = None if aggregate.condition is None else moves[aggregate.condition]
    return replace(aggregate, arguments=arguments, condition=condition)
