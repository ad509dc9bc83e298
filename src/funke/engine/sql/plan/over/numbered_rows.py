"""NumberedRows: a step of planning, before it is known whether a query asks for the first rows of each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.sql.binding.over.ranks import NumberedRows
from funke.engine.sql.plan import (
    EVERY_WATERMARK,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    field_names,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["NumberedRowsStep"]


@dataclass(frozen=True)
class NumberedRowsStep(NumberedRows, PlanNode):
    """Rules replace it by a Rank, a Deduplicate or an OverAggregate: no job ever runs it."""

    # What it becomes depends on the condition above it: `rn <= 3` makes a Rank, no condition an OverAggregate.
    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return EVERY_WATERMARK

    def title(self, style: ExplainStyle) -> str:
        return f"NumberedRows(select=[{field_names(self.columns)}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.input, index) if index < len(self.input.columns) else "ROW_NUMBER()"
