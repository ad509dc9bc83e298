"""The plan nodes that Spark computes: `plan_choice.py` says when, `spark_frames.py` how."""

from __future__ import annotations

from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.batch_join import BatchJoin
from funke.engine.sql.plan.batch_over_aggregate import BatchOverAggregate
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.constraint_enforcer import ConstraintEnforcer
from funke.engine.sql.plan.correlate import Correlate
from funke.engine.sql.plan.expand import Expand
from funke.engine.sql.plan.final_rows import FinalRows
from funke.engine.sql.plan.limit import ExecLimit
from funke.engine.sql.plan.over_aggregate import OverAggregate
from funke.engine.sql.plan.rank import Rank
from funke.engine.sql.plan.sort import BatchSort
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.plan.union import Union
from funke.engine.sql.plan.values import Values
from funke.engine.sql.plan.window_aggregate import WindowAggregate
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
