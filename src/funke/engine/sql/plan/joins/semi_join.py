"""Semi and anti joins by whole rows: what INTERSECT and EXCEPT run as in streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan import (
    ALL_KINDS,
    INSERTS,
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    column_name,
    containing,
    right_names,
    same_columns,
)
from funke.engine.sql.plan.pruning import without_unused

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["SemiJoin"]


@dataclass(frozen=True)
class SemiJoin(PlanNode):
    """The rows of the left input that the right one has too; of an anti join those that it does not have."""

    operator_name: ClassVar[str] = "Join"
    state_name: ClassVar[str] = "Join KeepMatches"

    left: PlanNode
    right: PlanNode
    is_anti: bool
    # How long the rows of a side are kept after the last equal one; 0 is forever.
    ttl_ms: int = 0

    @property
    def keys(self) -> tuple[int, ...]:
        """Whole rows are compared; NULL is equal to NULL."""
        return tuple(range(len(self.columns)))

    def distributions(self) -> tuple[Distribution, ...]:
        return Hash(self.keys), Hash(self.keys)

    def changelog(self) -> Kinds:
        # A row of the right side takes back what an anti join has sent.
        return ALL_KINDS if self.is_anti else INSERTS | self.left.changelog() | self.right.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return True, True

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        return containing(self.left.upsert_keys(), self.keys)

    def unique_keys(self) -> UpsertKeys:
        return self.left.unique_keys()

    def pruned(self, needed: frozenset[int]) -> Pruned:
        node = replace(self, left=without_unused(self.left), right=without_unused(self.right))
        return node, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        own = list(map(column_name, self.columns))
        others = right_names(own, [each.name for each in self.right.columns])
        equal = [
            _equality(one, other, style.is_infix, column.type._nullable, len(own) == 1)
            for one, other, column in zip(own, others, self.columns)
        ]
        if len(equal) == 1:
            where = equal[0]
        else:
            where = f"({' AND '.join(equal)})" if style.is_infix else f"AND({', '.join(equal)})"
        left_spec, right_spec = (
            "JoinKeyContainsUniqueKey" if each.unique_keys() else "NoUniqueKey" for each in self.inputs
        )
        kind = "LeftAntiJoin" if self.is_anti else "LeftSemiJoin"
        specs = f"leftInputSpec=[{left_spec}], rightInputSpec=[{right_spec}]"
        return f"Join(joinType=[{kind}], where=[{where}], select=[{', '.join(own)}], {specs})"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.left, index)

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield "NOT IN" if self.is_anti else "IN"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The number of equal rows of each side; those of the left one were sent, or were not."""
        from funke.engine.sql.meaning import input_facts

        left, right = (strings.typed_columns(each, self.keys) for each in self.inputs)
        kind = ("rows sent", "that are not on the right side" if self.is_anti else "that are on the right side")
        facts = (("the left side", left), ("the right side", right), kind, *input_facts(strings, *self.inputs))
        return StateMeaning("Join", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.semi_join import SemiJoinOperator

        return SemiJoinOperator(self)


def _equality(one: str, other: str, is_infix: bool, may_be_null: bool, is_alone: bool) -> str:
    """NULL is equal to NULL."""
    same = f"({one} = {other})" if is_infix else f"=({one}, {other})"
    if not may_be_null:
        return same
    if is_alone:
        return f"IS NOT DISTINCT FROM({one}, {other})"
    if is_infix:
        return f"({same} OR ({one} IS NULL AND {other} IS NULL))"
    return f"OR({same}, AND(IS NULL({one}), IS NULL({other})))"
