"""OverAggregate by values: each row with aggregates of the rows before it and of itself, in the order of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import MeaningPart, StateMeaning
from funke.engine.sql.binding.windows.window_relations import SortedAggregation
from funke.engine.sql.plan import (
    ChangeSettings,
    ExplainStyle,
    Kinds,
    Moves,
    PlanNode,
    UpsertKeys,
    WatermarkStep,
    call_text,
    column_name,
    containing,
    moved_aggregate,
    smallest_key,
    updates,
)
from funke.engine.sql.plan.over.over_node import OverNode, frame_unit
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["SortedOverAggregate"]


@dataclass(frozen=True)
class SortedOverAggregate(SortedAggregation, OverNode):
    """Keeps all rows: one that comes or goes changes the results of those behind it."""

    operator_name: ClassVar[str] = "OverAggregate"
    # Windows by values keep another state than those by time.
    state_name: ClassVar[str] = "OverAggregate SortedAggregate"

    input: PlanNode
    # Whether the consumer needs a result as it was before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # How long the state of a key lives after its last row; 0 is forever.
    ttl_ms: int = 0

    def changelog(self) -> Kinds:
        return updates(self.sends_before, RowKind.DELETE)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, sends_before=sends_before, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        return containing(self.input.upsert_keys(), self.partition_by)

    def order_columns(self) -> set[int]:
        if not self.input.has_retractions:
            return {self.order.index}
        # A row that is taken back is looked for by a key, or by all of its columns.
        key = smallest_key(self.input.upsert_keys())
        return {self.order.index, *(range(len(self.input.columns)) if key is None else key)}

    def narrowed(self, calls: Sequence[int], moves: Moves) -> SortedOverAggregate:
        aggregates = tuple(moved_aggregate(self.aggregates[number], moves) for number in calls)
        return replace(self, order=replace(self.order, index=moves[self.order.index]), aggregates=aggregates)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        inputs = self.input.columns
        frame = f" {frame_unit(self.is_rows)} BETWEEN {self._first_row} PRECEDING AND CURRENT ROW"
        calls = [f"{call_text(each, inputs)} AS w0$o{number}" for number, each in enumerate(self.aggregates)]
        return self.over_title([f"orderBy=[{column_name(inputs[self.order.index])} ASC]", f"window=[{frame}]"], calls)

    @property
    def _first_row(self) -> str:
        return "UNBOUNDED" if self.preceding is None else str(self.preceding)

    @property
    def _frame(self) -> str:
        unit = frame_unit(self.is_rows)
        return unit if self.preceding is None else f"{unit} {self.preceding} PRECEDING"

    def frame_text(self, strings: ColumnStrings, number: int) -> str:
        return f"{strings.order(self.input, (self.order,))} {self._frame}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import ACCUMULATORS, COLUMNS, columns_of, input_facts, key_fact

        source = self.input
        facts = (
            key_fact(strings, source, self.partition_by, "PARTITION BY"),
            ("ORDER BY", strings.order(source, (self.order,))),
            ("the frame", self._frame),
            *input_facts(strings, source),
        )
        # Emitted results are not kept: they are computed again when rows are taken back.
        calls = tuple(MeaningPart(strings.call(source, each), 0) for each in self.aggregates)
        return StateMeaning(
            "OverAggregate by values", facts, ((ACCUMULATORS, calls), (COLUMNS, columns_of(strings, source)))
        )

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.over.sorted_aggregate import SortedAggregateOperator

        return SortedAggregateOperator(self)
