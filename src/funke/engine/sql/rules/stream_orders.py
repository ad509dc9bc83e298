"""Turns ORDER BY into what a stream can do, which has no end at which all of it could be sorted."""

from __future__ import annotations

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Relation, Sort, with_inputs
from funke.engine.sql.binding.stream_orders import TemporalSort, TopRows
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.changelog.change_kinds import INSERTS, kinds_of
from funke.engine.sql.changelog.requirements import require_kinds

__all__ = ["with_stream_orders"]


def with_stream_orders(relation: Relation) -> Relation:
    """The relation with orders of streams."""
    changed = with_inputs(relation, with_stream_orders)
    if type(changed) is not Sort:
        return changed
    if changed.limit is not None:
        return _top_rows(changed)
    if changed.offset:
        raise TableException("FETCH is missed, which on streaming table is not supported currently.")
    first = changed.keys[0]
    is_by_time = changed.columns[first.index].time is TimeAttribute.ROWTIME and first.is_ascending
    if not is_by_time:
        raise TableException("Sort on a non-time-attribute field is not supported.")
    require_kinds(changed.input, INSERTS, "TemporalSort")
    return TemporalSort(changed.columns, changed.input, changed.keys)


def _top_rows(sort: Sort) -> Relation:
    if sort.offset:
        raise UnsupportedFeatureError("ORDER BY with OFFSET in a stream", "leave out rows where the result is read")
    if kinds_of(sort.input) != INSERTS:
        raise UnsupportedFeatureError(
            "ORDER BY with LIMIT in a stream, on a table that changes", "sort it in batch mode, or keep it in a table"
        )
    return TopRows(sort.columns, sort.input, sort.keys, 0, sort.limit)
