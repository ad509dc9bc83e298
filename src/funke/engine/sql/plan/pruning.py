"""Leaves out the columns and aggregates that no consumer looks at.

It is more than thrift: an aggregation whose results do not change sends nothing, so that a result which no consumer
sees would show in the changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from funke.engine.sql.binding.expressions import BoundColumn
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.node import PlanNode

__all__ = ["only", "without_unused"]


def without_unused(node: PlanNode) -> PlanNode:
    """The node without everything that its own columns do not need."""
    return only(node, range(len(node.columns)))


def only(node: PlanNode, needed: Iterable[int]) -> PlanNode:
    """A node with these columns, in this order."""
    indexes = list(needed)
    pruned, moves = node.pruned(frozenset(indexes))
    if [moves[each] for each in indexes] == list(range(len(pruned.columns))):
        return pruned
    # A node may keep more than it is asked for (its keys, a time column), and in its own order.
    columns = tuple(node.columns[each] for each in indexes)
    same = (BoundColumn(each.type, moves[index], each.name, each.time) for index, each in zip(indexes, columns))
    return Calc(columns, pruned, tuple(same))
