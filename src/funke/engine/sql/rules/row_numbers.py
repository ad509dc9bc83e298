"""In batches all rows have a number: what nobody asks the first rows of is an OVER window like others."""

from __future__ import annotations

from funke.engine.sql.binding.ranks import NumberedRows
from funke.engine.sql.binding.relations import BoundAggregate, Relation, with_inputs
from funke.engine.sql.binding.window_relations import Frame, OverCall, PartitionAggregation
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.ranking import ROW_NUMBER

__all__ = ["with_row_numbers"]


def with_row_numbers(relation: Relation) -> Relation:
    """The relation, whose rows have their numbers."""
    changed: Relation = with_inputs(relation, with_row_numbers)
    if not isinstance(changed, NumberedRows):
        return changed
    call = OverCall(BoundAggregate(bind_aggregate(ROW_NUMBER, []), ()), Frame(is_rows=True))
    return PartitionAggregation(changed.columns, changed.input, changed.keys, changed.order, (call,))
