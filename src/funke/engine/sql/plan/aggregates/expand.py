"""Expand: several rows for each row of the input, one for each list of expressions (GROUPING SETS)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding import Expansion, columns_in, moved
from funke.engine.sql.plan import ExplainStyle, Kinds, PlanNode, Pruned, WatermarkStep, field_names, kept_columns

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["Expand"]


@dataclass(frozen=True)
class Expand(Expansion, PlanNode):
    """The rows keep the change and the time of the row that they are made of."""

    # ROLLUP (a, b) makes three rows of each: with a and b, with a alone (b is NULL), and with neither. The aggregate
    # behind it groups by both columns and the number of the grouping set.
    operator_name: ClassVar[str] = "Expand"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        kept = kept_columns(needed)
        projections = [[expressions[index] for index in kept] for expressions in self.projections]
        used = frozenset(columns_in(each for expressions in projections for each in expressions))
        source, moves = self.input.pruned(used)
        node = replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            input=source,
            projections=tuple(tuple(moved(each, moves) for each in expressions) for expressions in projections),
        )
        return node, {old: new for new, old in enumerate(kept)}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        return f"Expansion(select=[{field_names(self.columns)}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        parts = [strings.expression_on(self.input, each[index]) for each in self.projections]
        return parts[0] if len(set(parts)) == 1 else f"EXPAND({', '.join(parts)})"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.expand import ExpandOperator

        return ExpandOperator(self, task.clock)
