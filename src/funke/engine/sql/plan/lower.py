"""From logical relations to plan nodes: the one table of what a relation runs as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.correlations import Correlation
from funke.engine.sql.binding.joins import Join as LogicalJoin
from funke.engine.sql.binding.lookup_joins import LookupJoin as LogicalLookupJoin
from funke.engine.sql.binding.ranks import NumberedRows, RankedWindows
from funke.engine.sql.binding.relations import (
    Aggregation,
    Calculation,
    Constants,
    Expansion,
    Limit,
    Relation,
    Scan,
    Sort,
    UnionAll,
    with_inputs,
)
from funke.engine.sql.binding.snapshot_joins import SnapshotJoin
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.binding.temporal_joins import VersionJoin
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.window_relations import (
    OverAggregation,
    PartitionAggregation,
    SortedAggregation,
    WindowAggregation,
    WindowTable,
)
from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.batch_over_aggregate import BatchOverAggregate
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.correlate import Correlate
from funke.engine.sql.plan.expand import Expand
from funke.engine.sql.plan.group_aggregate import GroupAggregate
from funke.engine.sql.plan.group_table_aggregate import GroupTableAggregate
from funke.engine.sql.plan.group_window_aggregate import GroupWindowAggregate, Settings, firing_of
from funke.engine.sql.plan.join_keys import join_of, temporal_join_of
from funke.engine.sql.plan.lateral_snapshot_join import lateral_snapshot_join_of
from funke.engine.sql.plan.limit import ExecLimit
from funke.engine.sql.plan.lookup_keys import lookup_join_of
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.plan.numbered_rows import NumberedRowsStep
from funke.engine.sql.plan.over_aggregate import OverAggregate
from funke.engine.sql.plan.process_table_function import FromChangelogFunction, ToChangelogFunction
from funke.engine.sql.plan.sort import BatchSort
from funke.engine.sql.plan.sorted_over_aggregate import SortedOverAggregate
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.plan.time_joins import time_join_of, without_times
from funke.engine.sql.plan.union import Union
from funke.engine.sql.plan.values import Values
from funke.engine.sql.plan.window_aggregate import WindowAggregate
from funke.engine.sql.plan.window_rank import WindowDeduplicate, WindowRank
from funke.engine.sql.plan.window_table_function import SessionWindowTableFunction, WindowTableFunction

__all__ = ["lower"]


def lower(relation: Relation, settings: Settings | None = None) -> PlanNode:
    """The plan of a relation; nodes that are lowered already stay.

    Without settings it is that of a batch: windows emit one result, and a join by times or windows is like any other.
    """
    if isinstance(relation, PlanNode):
        return relation
    changed = with_inputs(relation, lambda each: lower(each, settings))
    if type(changed) is WindowAggregation and settings is not None:
        firing = firing_of(changed, settings)
        if firing is not None:
            return GroupWindowAggregate(**vars(changed), firing=firing)
    if type(changed) is LogicalJoin and settings is not None:
        return time_join_of(changed) or join_of(without_times(changed))
    rule = _RULES.get(type(changed))
    return changed if rule is None else rule(changed)  # type: ignore[return-value]


def _as(node: type[PlanNode]) -> Callable[[Any], PlanNode]:
    """A node that means what a relation means: it has its fields."""
    return lambda relation: node(**vars(relation))


def _window_table(table: WindowTable) -> PlanNode:
    node = SessionWindowTableFunction if table.windows.is_merging else WindowTableFunction
    return node(**vars(table))


def _ranked_windows(ranked: RankedWindows) -> PlanNode:
    return (WindowDeduplicate if ranked.is_deduplication else WindowRank)(**vars(ranked))


_RULES: dict[type[Relation], Callable[[Any], PlanNode]] = {
    Aggregation: _as(GroupAggregate),
    Calculation: _as(Calc),
    Constants: _as(Values),
    Correlation: _as(Correlate),
    Expansion: _as(Expand),
    FromChangelog: _as(FromChangelogFunction),
    Limit: _as(ExecLimit),
    LogicalJoin: join_of,
    LogicalLookupJoin: lookup_join_of,
    NumberedRows: _as(NumberedRowsStep),
    OverAggregation: _as(OverAggregate),
    PartitionAggregation: _as(BatchOverAggregate),
    RankedWindows: _ranked_windows,
    Scan: _as(TableScan),
    Sort: _as(BatchSort),
    SortedAggregation: _as(SortedOverAggregate),
    SnapshotJoin: lateral_snapshot_join_of,
    TableAggregation: _as(GroupTableAggregate),
    ToChangelog: _as(ToChangelogFunction),
    UnionAll: _as(Union),
    VersionJoin: temporal_join_of,
    WatermarkAssigner: _as(AssignWatermarks),
    WindowAggregation: _as(WindowAggregate),
    WindowTable: _window_table,
}
