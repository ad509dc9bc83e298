"""Limit: the first rows that come, behind some that are left out; of rows that stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import Limit
from funke.engine.sql.plan import (
    SINGLE,
    Distribution,
    ExplainStyle,
    PassThrough,
    PlanNode,
    Pruned,
    limit_parts,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["ExecLimit"]


@dataclass(frozen=True)
class ExecLimit(Limit, PassThrough):
    """Counts rows; the first ones of a table that changes are those of a Rank."""

    operator_name: ClassVar[str] = "Limit"
    state_name: ClassVar[str] = "Limit"
    explains_exchange: ClassVar[bool] = False

    input: PlanNode

    def distributions(self) -> tuple[Distribution, ...]:
        return (SINGLE,)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def title(self, style: ExplainStyle) -> str:
        return f"Limit({', '.join(limit_parts(self.offset, self.limit))})"

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"LIMIT {self.offset}, {self.limit}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        # How many rows have come, of which some have passed.
        return StateMeaning("Limit", (("OFFSET", str(self.offset)), ("LIMIT", str(self.limit))))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.sort_limit import LimitOperator

        return LimitOperator(self)
