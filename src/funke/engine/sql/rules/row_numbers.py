"""Row numbers that no filter limits are ordinary OVER aggregates."""

from __future__ import annotations

from funke.engine.sql.binding.over.over_queries import rising_order
from funke.engine.sql.binding.over.ranks import NumberedRows
from funke.engine.sql.binding.relations import BoundAggregate, Relation, with_inputs
from funke.engine.sql.binding.windows.window_relations import Frame, OverCall, PartitionAggregation, SortedAggregation
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.ranking import ROW_NUMBER
from funke.engine.sql.plan.lower import lower

__all__ = ["with_row_numbers"]


def with_row_numbers(relation: Relation, is_stream: bool = False) -> Relation:
    """The relation, whose rows have their numbers; in streams by one column, and they change as rows come."""
    changed: Relation = with_inputs(relation, lambda each: with_row_numbers(each, is_stream))
    if not isinstance(changed, NumberedRows):
        return changed
    number = BoundAggregate(bind_aggregate(ROW_NUMBER, []), ())
    # A new row changes the numbers of all rows behind it: in streams these are updates.
    if is_stream:
        order = rising_order(changed.order)
        return lower(SortedAggregation(changed.columns, changed.input, changed.keys, order, True, (number,)))
    call = OverCall(number, Frame(is_rows=True))
    return lower(PartitionAggregation(changed.columns, changed.input, changed.keys, changed.order, (call,)))
