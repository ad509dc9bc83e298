"""ORDER BY in streams, which have no end at which all rows could be sorted."""

from __future__ import annotations

from dataclasses import replace

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding import BoundColumn, Calculation, Limit, Relation, Sort, SortKey, with_inputs
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.plan import INSERTS, as_node
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.changelogs.changelog_mode import require_kinds
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.ranks.sort import TemporalSort
from funke.engine.sql.rules.ranks import ranked

__all__ = ["with_stream_orders"]


def with_stream_orders(relation: Relation) -> Relation:
    """The relation with orders of streams."""
    changed: Relation = with_inputs(relation, with_stream_orders)
    if isinstance(changed, Limit) and as_node(changed.input).changelog() != INSERTS:
        return _limited(changed.input, (), changed.offset, changed.limit)
    if not isinstance(changed, Sort):
        return changed
    # ORDER BY … LIMIT n is a Top-N without keys: its first rows change as better ones come.
    if changed.limit is not None or changed.offset:
        return _limited(changed.input, changed.keys, changed.offset, changed.limit)
    first = changed.keys[0]
    # Event time is the only order that a stream can finish: the watermark says that no earlier row follows.
    is_by_time = changed.columns[first.index].time is TimeAttribute.ROWTIME and first.is_ascending
    if not is_by_time:
        raise TableException("Sort on a non-time-attribute field is not supported.")
    require_kinds(changed.input, INSERTS, "TemporalSort")
    return TemporalSort(changed.columns, lower(changed.input), changed.keys)


def _limited(source: Relation, keys: tuple[SortKey, ...], offset: int, limit: int | None) -> Relation:
    """Some rows by an order. As in Flink they are chosen before columns are computed, if those do not sort them."""
    if limit is None:
        raise TableException("FETCH is missed, which on streaming table is not supported currently.")
    if isinstance(source, Calculation):
        sorting = [source.expressions[key.index] for key in keys]
        columns = [each for each in sorting if isinstance(each, BoundColumn)]
        # Below the projection the Top-N keeps its input columns, and the expressions are computed for its n rows alone.
        if len(columns) == len(sorting):
            below = tuple(replace(key, index=column.index) for key, column in zip(keys, columns))
            if source.condition is None:
                return replace(source, input=_limited(source.input, below, offset, limit))
            chosen = ranked(_filtered(source), (), below, offset + 1, offset + limit, is_limit=True)
            return replace(source, input=chosen, condition=None)
    return ranked(source, (), keys, offset + 1, offset + limit, is_limit=True)


def _filtered(calculation: Calculation) -> Calculation:
    columns = calculation.input.columns
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(columns))
    return Calc(columns, lower(calculation.input), tuple(same), calculation.condition)
