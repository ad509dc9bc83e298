"""GroupTableAggregate: the rows that a user-defined table aggregate function makes of the rows of each key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.table_aggregations import TableAggregation
from funke.engine.sql.plan import (
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    field_names,
    same_columns,
)
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["GroupTableAggregate"]


@dataclass(frozen=True)
class GroupTableAggregate(TableAggregation, PlanNode):
    """Keeps the accumulator of each key; all rows of a key leave again with each change."""

    operator_name: ClassVar[str] = "GroupTableAggregate"
    state_name: ClassVar[str] = "GroupTableAggregate"
    explains_exchange: ClassVar[bool] = False

    input: PlanNode
    # How long the state of a key lives after its last row; 0 is forever.
    ttl_ms: int = 0

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        # No updates: a key has several rows, and nothing tells which new one replaces which old one.
        return frozenset({RowKind.INSERT, RowKind.DELETE})

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, ttl_ms=settings.ttl_ms)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        # The function makes whole rows, of exactly the columns that it is called with.
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        return f"TableAggregation(select=[{field_names(self.columns)}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        from funke.engine.sql.meaning import user_function_text

        number = index - len(self.keys)
        if number < 0:
            return strings.column(self.input, self.keys[index])
        call = f"{user_function_text(self.function)}({strings.columns(self.input, self.arguments)})"
        return f"({call}{strings.group_by(self.input, self.keys)}).{number}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import input_facts, key_fact, user_function_text

        call = f"{user_function_text(self.function)}({strings.typed_columns(self.input, self.arguments)})"
        facts = (key_fact(strings, self.input, self.keys), ("the function", call), *input_facts(strings, self.input))
        return StateMeaning("GroupTableAggregate", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.aggregates.table_aggregate import TableAggregateOperator

        return TableAggregateOperator(self)
