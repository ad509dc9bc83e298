"""Batches emit their results once: nodes that emit every change in streams emit their last rows alone."""

from __future__ import annotations

from typing import Any

from funke.engine.sql.binding.relations import Aggregation, with_inputs
from funke.engine.sql.plan import INSERTS, PlanNode
from funke.engine.sql.plan.aggregates.group_aggregate import GroupAggregate
from funke.engine.sql.plan.changelogs.final_rows import FinalRows
from funke.engine.sql.plan.joins.batch_join import BatchJoin
from funke.engine.sql.plan.joins.join import Join
from funke.engine.sql.plan.ranks.deduplicate import Deduplicate
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.rules.stream_rejections import has_pandas

__all__ = ["with_final_ranks", "with_final_rows"]


def with_final_rows(relation: Any) -> Any:
    """In batch mode the consumer of an aggregation or join sees its final results alone."""
    changed = with_inputs(relation, with_final_rows)
    if isinstance(changed, Join):
        return _final_join(changed)
    if not isinstance(changed, GroupAggregate):
        return changed
    # As in Flink a function of pandas has no result without rows.
    is_nothing = changed.keys or has_pandas(changed)
    return FinalRows(changed.columns, changed, None if is_nothing else _without_rows(changed))


def _final_join(join: Join) -> PlanNode:
    # An input that retracts rows needs the streaming join; only its final rows are the result.
    if any(each.changelog() != INSERTS for each in join.inputs):
        return FinalRows(join.columns, join)
    return BatchJoin(**vars(join))


def with_final_ranks(relation: Any) -> Any:
    """In batch mode the consumer of a Rank or Deduplicate sees its last rows alone."""
    changed = with_inputs(relation, with_final_ranks)
    return FinalRows(changed.columns, changed) if isinstance(changed, Rank | Deduplicate) else changed


def _without_rows(aggregation: Aggregation) -> tuple[Any, ...]:
    """The results of aggregates over no rows."""
    bodies = [each.call.body for each in aggregation.aggregates]
    return tuple(body.value(body.create()) for body in bodies)
