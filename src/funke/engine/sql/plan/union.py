"""Union: the rows of several nodes with the same types; it is not an operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from funke.engine.sql.binding.relations import UnionAll
from funke.engine.sql.plan import (
    INSERTS,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    field_names,
    kept_columns,
)
from funke.engine.sql.plan.pruning import only

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["Union"]


@dataclass(frozen=True)
class Union(UnionAll, PlanNode):
    """Rows of different inputs come in any order; those of one input keep theirs."""

    # A default, or the property of the base would stand in its way.
    inputs: tuple[PlanNode, ...] = ()

    def changelog(self) -> Kinds:
        return INSERTS.union(*(each.changelog() for each in self.inputs))

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs,) * len(self.inputs)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        kept = kept_columns(needed)
        inputs = tuple(only(each, kept) for each in self.inputs)
        columns = tuple(self.columns[index] for index in kept)
        return replace(self, columns=columns, inputs=inputs), {old: new for new, old in enumerate(kept)}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        return f"Union(all=[true], union=[{field_names(self.columns)}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        # The same order for all columns, whatever order the inputs have.
        whole = {strings.columns(each, range(len(each.columns))): strings.column(each, index) for each in self.inputs}
        parts = [whole[each] for each in sorted(whole)]
        return parts[0] if len(set(parts)) == 1 else f"UNION({', '.join(parts)})"
