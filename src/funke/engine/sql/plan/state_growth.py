"""The growth of state: the advice of EXPLAIN PLAN_ADVICE, and the warning when a job is submitted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from funke.engine.sql.binding.relations import Relation, Scan, inputs_of
from funke.engine.sql.connectors.table_source import TableSource
from funke.engine.sql.plan.node import PlanNode

__all__ = ["StateGrowth", "growth_below", "read_tables", "warnings_of"]


@dataclass(frozen=True)
class StateGrowth:
    """The state that a node keeps of an input."""

    # Such as: Join(where=[=(id, id0)])
    owner: str
    # Such as: grows with every row of orders; no key, no TTL
    text: str
    # The tables of which every row is kept, as long as the job runs.
    endless_tables: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Tables:
    """The tables that an input reads."""

    names: tuple[str, ...]
    is_endless: bool

    def __str__(self) -> str:
        return ", ".join(self.names)


def read_tables(relation: Relation) -> _Tables:
    """The tables below a node."""
    scans = list(dict.fromkeys(_scans(relation)))
    sources = [each.table for each in scans]
    # Nothing is known of a table without a connector: a stream may have an end or not.
    is_endless = any(isinstance(each, TableSource) and not each.is_bounded for each in sources)
    names = tuple(dict.fromkeys(each.path[-1] for each in scans if each.path))
    return _Tables(names or ("its input",), is_endless)


def _scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    for each in inputs_of(relation):
        yield from _scans(each)


def growth_below(node: PlanNode) -> Iterator[StateGrowth]:
    """The growth of the nodes below, the sources first, and of this node."""
    for each in node.inputs:
        yield from growth_below(each)
    yield from node.state_growth()


def warnings_of(node: PlanNode) -> list[str]:
    """A line for each node whose state grows as long as the job runs."""
    tables: dict[str, dict[str, None]] = {}
    for growth in growth_below(node):
        if growth.endless_tables:
            tables.setdefault(growth.owner, {}).update(dict.fromkeys(growth.endless_tables))
    return [
        f"the state of {owner} grows with every row of {', '.join(names)}: there is no key and no TTL; "
        "'table.exec.state.ttl' or the hint STATE_TTL limits it"
        for owner, names in tables.items()
    ]
