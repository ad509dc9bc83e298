"""OverAggregate: each row with aggregates of the rows before it and of itself, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.windows.window_relations import OverAggregation
from funke.engine.sql.plan import (
    FOR_LATE_ROWS,
    INSERTS,
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
    finer,
    moved_aggregate,
)
from funke.engine.sql.plan.over.over_node import OverNode, frame_unit

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["OverAggregate"]


@dataclass(frozen=True)
class OverAggregate(OverAggregation, OverNode):
    """Rows wait for the watermark; by the clock they are processed as they come."""

    operator_name: ClassVar[str] = "OverAggregate"
    state_name: ClassVar[str] = "OverAggregate"

    input: PlanNode
    # How long the state of a key lives after its last row; 0 is forever.
    ttl_ms: int = 0

    def changelog(self) -> Kinds:
        return INSERTS

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        return containing(self.input.upsert_keys(), self.partition_by)

    def order_columns(self) -> set[int]:
        return {self.time.column} if self.time.is_event_time else set()

    def narrowed(self, calls: Sequence[int], moves: Moves) -> OverAggregate:
        aggregates = tuple(moved_aggregate(self.aggregates[number], moves) for number in calls)
        # A clock has no column that must stay.
        return replace(self, time=replace(self.time, column=moves.get(self.time.column, 0)), aggregates=aggregates)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, FOR_LATE_ROWS if self.time.is_event_time else None)

    def title(self, style: ExplainStyle) -> str:
        inputs, lower = self.input.columns, "UNBOUNDED" if self.preceding is None else str(self.preceding)
        frame = f" {frame_unit(self.is_rows)} BETWEEN {lower} PRECEDING AND CURRENT ROW"
        calls = [f"{call_text(each, inputs)} AS w0$o{number}" for number, each in enumerate(self.aggregates)]
        return self.over_title([f"orderBy=[{column_name(inputs[self.time.column])} ASC]", f"window=[{frame}]"], calls)

    def frame_text(self, strings: ColumnStrings, number: int) -> str:
        return f"{strings.time(self.input, self.time)} {frame_unit(self.is_rows)} {self.preceding} PRECEDING"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import ACCUMULATORS, COLUMNS, accumulators, columns_of, key_fact
        from funke.engine.sql.operators.windows.slices.gathered_rows import window_kernel

        source, is_bounded = self.input, self.preceding is not None
        unit = "rows" if self.is_rows else "ms"
        facts = (
            key_fact(strings, source, self.partition_by, "PARTITION BY"),
            ("ORDER BY", strings.time(source, self.time)),
            ("the frame", f"{self.preceding} {unit} PRECEDING" if is_bounded else f"UNBOUNDED PRECEDING, {unit}"),
        )
        calls = accumulators(strings, source, self.aggregates, lambda call: window_kernel(call, is_bounded))
        # By the clock, and without a lower bound, no row is kept.
        columns = columns_of(strings, source) if self.time.is_event_time or is_bounded else ()
        return StateMeaning("OverAggregate", facts, ((ACCUMULATORS, calls), (COLUMNS, columns)))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.over.over_aggregate import OverOperator

        return OverOperator(self)
