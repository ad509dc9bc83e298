"""Values: rows that stand in the query itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from funke.engine.sql.binding.relations import Constants
from funke.engine.sql.plan import (
    INSERTS,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    same_columns,
    value_text,
)

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["Values"]

_MOST_ROWS = 10


@dataclass(frozen=True)
class Values(Constants, PlanNode):
    """A few rows, read once."""

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return ()

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        rows = ", ".join(f"{{ {', '.join(map(value_text, row))} }}" for row in self.rows[:_MOST_ROWS])
        more = ", …" if len(self.rows) > _MOST_ROWS else ""
        return f"Values(tuples=[[{rows}{more}]])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return f"VALUES.{index}"
