"""From logical relations to plan nodes: the one table of what a relation runs as.

The rules of aggregates with windows and those of joins have files of their own, `lower_aggregates.py` and
`lower_joins.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.patterns.match_relations import Matches
from funke.engine.sql.binding.relations import (
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
from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.plan.aggregates.expand import Expand
from funke.engine.sql.plan.aggregates.group_window_aggregate import Settings
from funke.engine.sql.plan.aggregates.lower_aggregates import AGGREGATE_RULES, STREAM_AGGREGATE_RULES
from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.changelogs.process_table_function import FromChangelogFunction, ToChangelogFunction
from funke.engine.sql.plan.correlate import Correlate
from funke.engine.sql.plan.joins.lower_joins import JOIN_RULES, STREAM_JOIN_RULES
from funke.engine.sql.plan.match_recognize import MatchRecognize
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.plan.ranks.limit import ExecLimit
from funke.engine.sql.plan.ranks.sort import BatchSort
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.plan.union import Union
from funke.engine.sql.plan.values import Values

__all__ = ["lower"]


def lower(relation: Relation, settings: Settings | None = None) -> PlanNode:
    """The plan of a relation; nodes that are lowered already stay.

    Without settings it is that of a batch: windows emit one result, and a join by times or windows is like any other.
    """
    if isinstance(relation, PlanNode):
        return relation
    # Inputs first: the rules ask them for their changes and keys, so they must be nodes already.
    changed = with_inputs(relation, lambda each: lower(each, settings))
    stream_rule = None if settings is None else _STREAM_RULES.get(type(changed))
    if stream_rule is not None:
        return stream_rule(changed, settings)
    rule = _RULES.get(type(changed))
    return changed if rule is None else rule(changed)  # type: ignore[return-value]


_RULES: Mapping[type[Relation], Callable[[Any], PlanNode]] = {
    **AGGREGATE_RULES,
    **JOIN_RULES,
    Calculation: Calc.from_relation,
    Constants: Values.from_relation,
    Correlation: Correlate.from_relation,
    Expansion: Expand.from_relation,
    FromChangelog: FromChangelogFunction.from_relation,
    Limit: ExecLimit.from_relation,
    Matches: MatchRecognize.from_relation,
    Scan: TableScan.from_relation,
    Sort: BatchSort.from_relation,
    ToChangelog: ToChangelogFunction.from_relation,
    UnionAll: Union.from_relation,
    WatermarkAssigner: AssignWatermarks.from_relation,
}
# What is otherwise in a stream than in a batch.
_STREAM_RULES: Mapping[type[Relation], Callable[[Any, Any], PlanNode]] = {**STREAM_AGGREGATE_RULES, **STREAM_JOIN_RULES}
