"""The rules of streaming and of batch mode, in their order: which nodes a query has, and which changes they emit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funke.engine.sql.plan.lower import lower
from funke.engine.sql.rules.final_results import with_final_ranks, with_final_rows
from funke.engine.sql.rules.join_conditions import with_join_conditions
from funke.engine.sql.rules.lookup_joins import with_lookup_joins
from funke.engine.sql.rules.multi_joins import with_multi_joins
from funke.engine.sql.rules.needless_groups import without_needless_groups
from funke.engine.sql.rules.needless_joins import without_needless_joins
from funke.engine.sql.rules.ranks import with_ranks
from funke.engine.sql.rules.row_numbers import with_row_numbers
from funke.engine.sql.rules.set_comparisons import with_set_comparisons
from funke.engine.sql.rules.stream_orders import with_stream_orders
from funke.engine.sql.rules.stream_rejections import reject_changes
from funke.engine.sql.rules.temporal_joins import check_versions

if TYPE_CHECKING:
    from funke.engine.sql.binding import Relation
    from funke.engine.sql.plan import PlanNode
    from funke.engine.sql.plan.aggregates.group_window_aggregate import Settings

__all__ = ["in_execution_mode", "lowered"]


def lowered(relation: Relation, settings: Settings, is_streaming: bool) -> PlanNode:
    """Windows of batches have one result, whatever the session says of early and late ones."""
    relation = with_lookup_joins(with_join_conditions(relation), settings, is_streaming)
    return lower(relation, settings) if is_streaming else lower(relation)


def in_execution_mode(relation: Relation, settings: Settings, is_streaming: bool) -> Relation:
    """The nodes of a query: a stream emits every change, a batch its last rows."""
    relation = without_needless_groups(with_set_comparisons(lowered(relation, settings, is_streaming), is_streaming))
    return _in_stream(relation, settings) if is_streaming else _in_batch(relation)


def _in_stream(relation: Relation, settings: Settings) -> Relation:
    # Numbers that no condition limits are left by the ranks for OVER. Needless joins go before chains of joins are
    # merged, or they would become levels of a chain.
    ranked = with_row_numbers(with_ranks(relation), is_stream=True)
    changed = with_stream_orders(with_multi_joins(without_needless_joins(ranked), settings))
    # Only now: a deduplication among the ranks gives a table the key that a temporal join needs.
    check_versions(changed)
    reject_changes(changed)
    return changed


def _in_batch(relation: Relation) -> Relation:
    final: Relation = with_final_ranks(with_ranks(with_final_rows(relation), is_stream=False))
    return without_needless_joins(with_row_numbers(final))
