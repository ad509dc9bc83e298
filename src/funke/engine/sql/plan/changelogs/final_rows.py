"""FinalRows: what the changes of a bounded input leave, sent at its end; batches have results alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.plan import INSERTS, ExplainStyle, Kinds, PassThrough, Pruned, field_names, same_columns

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["FinalRows"]


@dataclass(frozen=True)
class FinalRows(PassThrough):
    """Each subtask sees all changes of the rows that it sees: it stays where its input is."""

    operator_name: ClassVar[str] = "FinalRows"
    state_name: ClassVar[str] = "FinalRows"

    # What there is if nothing is left: the results of aggregates over no rows.
    otherwise: tuple[Any, ...] | None = None

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        # A row that is taken back is found by all of its columns.
        return self, same_columns(self)

    def title(self, style: ExplainStyle) -> str:
        return f"FinalRows(select=[{field_names(self.columns)}])"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import rows_fact

        # All changes that have come.
        return StateMeaning("FinalRows", (rows_fact(strings, self.input), ("the condition", strings.rows(self.input))))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.final_rows import FinalRowsOperator

        return FinalRowsOperator(self)
