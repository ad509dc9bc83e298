"""The kinds of changes that the rows of a relation may be."""

from __future__ import annotations

from funke.engine.sql.binding.relations import Relation, Scan
from funke.engine.types.row import RowKind

__all__ = ["kinds_of", "kinds_text"]

_SHORT = {RowKind.INSERT: "I", RowKind.UPDATE_BEFORE: "UB", RowKind.UPDATE_AFTER: "UA", RowKind.DELETE: "D"}


def kinds_of(relation: Relation) -> frozenset[RowKind]:
    """What may come: a table says so itself, everything else hands on what it gets."""
    if isinstance(relation, Scan):
        return frozenset(relation.table.kinds)
    found = frozenset({RowKind.INSERT})
    for each in inputs_of(relation):
        found |= kinds_of(each)
    return found


def inputs_of(relation: Relation) -> tuple[Relation, ...]:
    """The relations that one reads."""
    inputs: list[Relation] = []
    for value in vars(relation).values():
        several = value if isinstance(value, tuple) else (value,)
        inputs += [each for each in several if isinstance(each, Relation)]
    return tuple(inputs)


def kinds_text(kinds: frozenset[RowKind]) -> str:
    """Kinds as plans show them: [I,UB,UA,D]."""
    return f"[{','.join(short for kind, short in _SHORT.items() if kind in kinds)}]"
