"""WatermarkAssigner: gives rows their event time, and sends watermarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.plan import (
    EVERY_WATERMARK,
    ExplainStyle,
    PassThrough,
    PlanNode,
    Pruned,
    WatermarkStep,
    expression_text,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo

__all__ = ["AssignWatermarks"]


@dataclass(frozen=True)
class AssignWatermarks(WatermarkAssigner, PassThrough):
    """The event time is the column at `rowtime`, watermarks are what `expression` gives."""

    operator_name: ClassVar[str] = "WatermarkAssigner"

    input: PlanNode
    # How finely watermarks must stand among the rows; None: no consumer looks at them.
    step: WatermarkStep | None = EVERY_WATERMARK

    def pruned(self, needed: frozenset[int]) -> Pruned:
        # Pushing down narrows what it reads.
        return self, same_columns(self)

    def with_watermarks(self, consumer_step: WatermarkStep | None) -> PlanNode:
        # Event time begins here: watermarks from below are not passed on, so nothing below has to cut batches for them.
        return replace(self, input=self.input.with_watermarks(None), step=consumer_step)

    def title(self, style: ExplainStyle) -> str:
        rowtime, watermark = self.columns[self.rowtime].name, expression_text(self.expression, style)
        return f"WatermarkAssigner(rowtime=[{rowtime}], watermark=[{watermark}])"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.assign_watermarks import AssignWatermarksOperator

        return AssignWatermarksOperator(self, task.clock)
