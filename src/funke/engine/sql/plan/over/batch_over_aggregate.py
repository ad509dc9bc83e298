"""OverAggregate of batches: each row with functions of its whole partition, in any order, of any frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.sql.binding.windows.window_relations import Frame, PartitionAggregation
from funke.engine.sql.plan import (
    ExplainStyle,
    Kinds,
    Moves,
    PlanNode,
    WatermarkStep,
    call_text,
    column_name,
    moved_aggregate,
)
from funke.engine.sql.plan.over.over_node import OverNode, frame_unit

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["BatchOverAggregate"]


@dataclass(frozen=True)
class BatchOverAggregate(PartitionAggregation, OverNode):
    """Gathers all rows, which come once."""

    operator_name: ClassVar[str] = "OverAggregate"
    state_name: ClassVar[str] = "OverAggregate"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def order_columns(self) -> set[int]:
        return {key.index for key in self.order}

    def narrowed(self, calls: Sequence[int], moves: Moves) -> BatchOverAggregate:
        chosen = (self.calls[number] for number in calls)
        return replace(
            self,
            order=tuple(replace(key, index=moves[key.index]) for key in self.order),
            calls=tuple(replace(each, aggregate=moved_aggregate(each.aggregate, moves)) for each in chosen),
        )

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        """As Flink's plans have it, calls with the same frame together."""
        inputs = self.input.columns
        order = ", ".join(
            f"{column_name(inputs[key.index])} {'ASC' if key.is_ascending else 'DESC'}" for key in self.order
        )
        windows: dict[str, list[str]] = {}
        for number, each in enumerate(self.calls):
            windows.setdefault(_frame(each.frame), []).append(f"{call_text(each.aggregate, inputs)} AS w0$o{number}")
        parts = [f"orderBy=[{order}]"] if order else []
        parts += [f"window#{index}=[{', '.join(calls)}{frame}]" for index, (frame, calls) in enumerate(windows.items())]
        return self.over_title(parts, [f"w0$o{number}" for number in range(len(self.calls))])

    def frame_text(self, strings: ColumnStrings, number: int) -> str:
        frame = self.calls[number].frame
        order = strings.order(self.input, self.order)
        return f"{order} {frame_unit(frame.is_rows)} {frame.lower} TO {frame.upper}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.over.partition_aggregate import PartitionOperator

        return PartitionOperator(self)


def _frame(frame: Frame) -> str:
    lower = "UNBOUNDED PRECEDING" if frame.lower is None else _bound(frame.lower)
    upper = "UNBOUNDED FOLLOWING" if frame.upper is None else _bound(frame.upper)
    return f" {frame_unit(frame.is_rows)} BETWEEN {lower} AND {upper}"


def _bound(distance: Any) -> str:
    if not distance:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"
