"""ConstraintEnforcer: a row with a NULL in a NOT NULL column of a sink fails the job, or is dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.plan import ExplainStyle, PassThrough, Pruned, field_names

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo

__all__ = ["ConstraintEnforcer"]


@dataclass(frozen=True)
class ConstraintEnforcer(PassThrough):
    """Looks at single rows."""

    operator_name: ClassVar[str] = "ConstraintEnforcer"

    # The columns that must have values.
    indexes: tuple[int, ...]
    is_dropping: bool = False

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # A row whose update is dropped must be taken back.
        return (consumer_needs or self.is_dropping,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        source, moves = self.input.pruned(needed | {*self.indexes})
        indexes = tuple(moves[index] for index in self.indexes)
        return replace(self, columns=source.columns, input=source, indexes=indexes), moves

    def title(self, style: ExplainStyle) -> str:
        return f"NotNulls(select=[{field_names(self.columns)}])"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.enforce_not_null import EnforceNotNullOperator

        return EnforceNotNullOperator(self)
