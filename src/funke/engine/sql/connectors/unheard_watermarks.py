"""Finds watermarks that nobody in a query listens to, so that batches need not be cut for them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from funke.engine.sql.binding.final_rows import FinalRows
from funke.engine.sql.binding.relations import Aggregation, Calculation, Expansion, Limit, Relation, UnionAll
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner

__all__ = ["with_unheard_watermarks"]

# None of these does anything when event time goes on.
_DEAF = (Aggregation, Calculation, Expansion, FinalRows, Limit, UnionAll)


def with_unheard_watermarks(relation: Any) -> Any:
    """Return a relation whose rows go to somebody who does not look at watermarks: a table, or a list of results."""
    if isinstance(relation, WatermarkAssigner):
        return replace(relation, is_heard=False)
    if not isinstance(relation, _DEAF):
        return relation
    changes = {}
    for field in fields(relation):
        value = getattr(relation, field.name)
        if isinstance(value, Relation):
            changes[field.name] = with_unheard_watermarks(value)
        elif isinstance(value, tuple) and value and all(isinstance(each, Relation) for each in value):
            changes[field.name] = tuple(map(with_unheard_watermarks, value))
    return replace(relation, **changes)
