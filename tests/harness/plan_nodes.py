"""The operators of plan nodes, as subtasks make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.meaning.column_strings import ColumnStrings
from funke.engine.sql.plan.changelogs.changes import INSERTS, Kinds
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.node import DetachedInput
from funke.engine.types.columns.column_batch import ColumnBatch
from tests.harness.operator_harness import OperatorHarness

__all__ = ["factories_of", "factory_of", "join_harness", "joined", "meaning_of_node", "rows_of"]


def factories_of(relation: Relation) -> list[Callable[[Any], Any]]:
    """What makes the operators of a relation, from the source on."""
    return [each.detached().create for each in lower(relation).phases()]


def factory_of(relation: Relation) -> Callable[[Any], Any]:
    """What makes the operator of a relation that runs as one."""
    return lower(relation).detached().create


def meaning_of_node(relation: Relation) -> StateMeaning:
    """What the state of a relation's operator means."""
    meaning = lower(relation).state_meaning(ColumnStrings())
    assert meaning is not None
    return meaning


def rows_of(columns: Sequence[Column], kinds: Kinds = INSERTS) -> DetachedInput:
    """Rows that a node reads, wherever they come from."""
    return DetachedInput(tuple(columns), kinds, NO_KEYS)


def join_harness(relation: Relation) -> OperatorHarness:
    """One subtask of a node with several inputs."""
    return OperatorHarness(ColumnOperator(factory_of(relation)), keeps_columns=True)


def joined(relation: Relation, sides: Sequence[Iterable[Any]], harness: OperatorHarness | None = None) -> list[Any]:
    """What a join makes of the batches of its inputs, which come one input after the other."""
    running = harness or join_harness(relation)
    for index, elements in enumerate(sides):
        handle = running.operator.columns_handler(index)
        for each in elements:
            if isinstance(each, ColumnBatch):
                handle(each)
    return running.elements()
