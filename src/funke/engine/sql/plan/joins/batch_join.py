"""BatchJoin: a join of batches; rows are sent once, those of outer sides without a match among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan.changelogs.changes import INSERTS, ChangeSettings, Kinds
from funke.engine.sql.plan.explain_text import ExplainStyle
from funke.engine.sql.plan.joins.join import KIND_NAMES, Join
from funke.engine.sql.plan.node import PlanNode

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings
    from funke.engine.sql.plan.state_growth import StateGrowth

__all__ = ["BatchJoin"]


@dataclass(frozen=True)
class BatchJoin(Join):
    """Gathers the rows of both inputs, which come once; whatever tables declare of keys, none replaces another."""

    operator_name: ClassVar[str] = "Join"
    state_name: ClassVar[str] = "BatchJoin"

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return True, True

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return self

    def title(self, style: ExplainStyle) -> str:
        names = self.names()[: len(self.columns)]
        kind, where = KIND_NAMES[self.kind], self.where_text(style)
        return f"Join(joinType=[{kind}], where=[{where}], select=[{', '.join(names)}])"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning.state_parts import rows_fact

        # All rows that have come; they are joined at the end.
        return StateMeaning("BatchJoin", tuple(rows_fact(strings, each) for each in self.inputs))

    def state_growth(self) -> tuple[StateGrowth, ...]:
        # It ends with its inputs.
        return ()

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.batch_join import BatchJoinOperator

        return BatchJoinOperator(self, task.clock)
