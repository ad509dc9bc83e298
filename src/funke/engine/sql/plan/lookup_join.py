"""LookupJoin: each row with the rows that an external table has for its keys when the row comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding.lookup_joins import LookupJoin as LogicalLookupJoin
from funke.engine.sql.plan.changes import Kinds
from funke.engine.sql.plan.explain_text import ExplainStyle, field_names
from funke.engine.sql.plan.node import PlanNode, Pruned, same_columns
from funke.engine.sql.plan.upsert_keys import NO_KEYS, UpsertKeys
from funke.engine.sql.plan.watermarks import WatermarkStep

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_texts import ColumnTexts

__all__ = ["LookupJoin"]


@dataclass(frozen=True)
class LookupJoin(LogicalLookupJoin, PlanNode):
    """The rows keep the change and the time of the row that was looked up."""

    operator_name: ClassVar[str] = "LookupJoin"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, wanted: bool) -> tuple[bool, ...]:
        return (True,)

    def upsert_keys(self) -> UpsertKeys:
        return self.input.upsert_keys() if self.is_unique else NO_KEYS

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, wanted: WatermarkStep | None) -> WatermarkStep | None:
        return wanted

    def title(self, style: ExplainStyle) -> str:
        return f"LookupJoin(select=[{field_names(self.columns)}])"

    def column_text(self, texts: ColumnTexts, index: int) -> str:
        if index < len(self.input.columns):
            return texts.column(self.input, index)
        return ".".join((*self.path, self.columns[index].name))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.lookup_join import LookupJoinOperator

        return LookupJoinOperator(self, task)
