"""The rules of `lower` for aggregates, windows, OVER and ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.sql.binding import Aggregation, Relation
from funke.engine.sql.binding.over.ranks import NumberedRows, RankedWindows
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.windows.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.plan import PlanNode
from funke.engine.sql.plan.aggregates.group_aggregate import GroupAggregate
from funke.engine.sql.plan.aggregates.group_table_aggregate import GroupTableAggregate
from funke.engine.sql.plan.aggregates.group_window_aggregate import GroupWindowAggregate, Settings, firing_of
from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
from funke.engine.sql.plan.over.batch_over_aggregate import BatchOverAggregate
from funke.engine.sql.plan.over.numbered_rows import NumberedRowsStep
from funke.engine.sql.plan.over.over_aggregate import OverAggregate
from funke.engine.sql.plan.over.sorted_over_aggregate import SortedOverAggregate
from funke.engine.sql.plan.ranks.window_rank import WindowDeduplicate, WindowRank
from funke.engine.sql.plan.window_table_function import SessionWindowTableFunction, WindowTableFunction

__all__ = ["AGGREGATE_RULES", "STREAM_AGGREGATE_RULES"]


def _window_table(table: WindowTable) -> PlanNode:
    # The session of a row depends on other rows of its key, which have to meet and wait. All other windows follow from
    # the time of the row alone.
    node = SessionWindowTableFunction if table.windows.is_merging else WindowTableFunction
    return node.from_relation(table)


def _ranked_windows(ranked: RankedWindows) -> PlanNode:
    return (WindowDeduplicate if ranked.is_deduplication else WindowRank).from_relation(ranked)


def _stream_window_aggregation(aggregation: WindowAggregation, settings: Settings) -> PlanNode:
    firing = firing_of(aggregation, settings)
    if firing is None:
        return WindowAggregate.from_relation(aggregation)
    return GroupWindowAggregate(**vars(aggregation), firing=firing)


AGGREGATE_RULES: Mapping[type[Relation], Callable[[Any], PlanNode]] = {
    Aggregation: GroupAggregate.from_relation,
    NumberedRows: NumberedRowsStep.from_relation,
    OverAggregation: OverAggregate.from_relation,
    PartitionAggregation: BatchOverAggregate.from_relation,
    RankedWindows: _ranked_windows,
    SortedAggregation: SortedOverAggregate.from_relation,
    TableAggregation: GroupTableAggregate.from_relation,
    WindowAggregation: WindowAggregate.from_relation,
    WindowTable: _window_table,
}
STREAM_AGGREGATE_RULES: Mapping[type[Relation], Callable[[Any, Settings], PlanNode]] = {
    WindowAggregation: _stream_window_aggregation
}
