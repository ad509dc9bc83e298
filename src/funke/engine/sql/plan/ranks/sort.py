"""Sort: all rows of a bounded input in an order. TemporalSort: the rows of a stream in the order of event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import Sort, SortKey
from funke.engine.sql.plan import (
    FOR_LATE_ROWS,
    SINGLE,
    Distribution,
    ExplainStyle,
    PassThrough,
    PlanNode,
    Pruned,
    WatermarkStep,
    finer,
    limit_parts,
    order_text,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["BatchSort", "TemporalSort"]


@dataclass(frozen=True)
class _OrderedRows(PassThrough):
    """All rows meet, and leave in an order."""

    explains_exchange: ClassVar[bool] = False

    def distributions(self) -> tuple[Distribution, ...]:
        return (SINGLE,)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)


@dataclass(frozen=True)
class BatchSort(Sort, _OrderedRows):
    """Sends rows once all of them have come; some of them if it is limited."""

    operator_name: ClassVar[str] = "Sort"
    state_name: ClassVar[str] = "Sort"

    input: PlanNode

    def title(self, style: ExplainStyle) -> str:
        limit = limit_parts(self.offset, self.limit)
        order = f"orderBy=[{order_text(self.columns, self.keys)}]"
        return f"{'SortLimit' if limit else 'Sort'}({', '.join((order, *limit))})"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import rows_fact

        # All rows that have come; they are sorted at the end.
        return StateMeaning("Sort", (rows_fact(strings, self.input),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.sort_limit import SortOperator

        return SortOperator(self)


@dataclass(frozen=True)
class TemporalSort(_OrderedRows):
    """Sends each row when the watermark has passed its event time, the first key."""

    operator_name: ClassVar[str] = "TemporalSort"
    state_name: ClassVar[str] = "TemporalSort"

    keys: tuple[SortKey, ...]

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, FOR_LATE_ROWS)

    def title(self, style: ExplainStyle) -> str:
        return f"TemporalSort(orderBy=[{order_text(self.columns, self.keys)}])"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import rows_fact

        # Rows that wait, with all their columns.
        order = ("ORDER BY", strings.order(self.input, self.keys))
        return StateMeaning("TemporalSort", (order, rows_fact(strings, self.input)))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.stream_orders import TemporalSortOperator

        return TemporalSortOperator(self)
