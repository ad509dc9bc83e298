"""The plan nodes that Spark computes: `plan_choice.py` says when, `spark_frames.py` how."""

from __future__ import annotations

from funke.engine.sql.plan.aggregates.expand import Expand
from funke.engine.sql.plan.aggregates.window_aggregate import WindowAggregate
from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.changelogs.constraint_enforcer import ConstraintEnforcer
from funke.engine.sql.plan.changelogs.final_rows import FinalRows
from funke.engine.sql.plan.correlate import Correlate
from funke.engine.sql.plan.joins.batch_join import BatchJoin
from funke.engine.sql.plan.over.batch_over_aggregate import BatchOverAggregate
from funke.engine.sql.plan.over.over_aggregate import OverAggregate
from funke.engine.sql.plan.ranks.limit import ExecLimit
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.plan.ranks.sort import BatchSort
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.plan.union import Union
from funke.engine.sql.plan.values import Values
from funke.engine.sql.plan.window_table_function import SessionWindowTableFunction, WindowTableFunction

__all__ = [
    "AssignWatermarks",
    "BatchJoin",
    "BatchOverAggregate",
    "BatchSort",
    "Calc",
    "ConstraintEnforcer",
    "Correlate",
    "ExecLimit",
    "Expand",
    "FinalRows",
    "OverAggregate",
    "Rank",
    "SessionWindowTableFunction",
    "TableScan",
    "Union",
    "Values",
    "WindowAggregate",
    "WindowTableFunction",
]
