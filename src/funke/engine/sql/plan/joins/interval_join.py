"""IntervalJoin: the pairs of rows whose times are as near to each other as the condition says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.flink_exceptions import TableException
from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.expressions import BoundExpression, TimeAttribute, conjuncts, moved, with_columns
from funke.engine.sql.binding.joins.time_bounds import TimeBounds
from funke.engine.sql.plan.changelogs.changes import INSERTS, ChangeSettings, Kinds
from funke.engine.sql.plan.explain_text import ExplainStyle, expression_text
from funke.engine.sql.plan.joins.join import KIND_NAMES, TwoSidedNode, joined_conditions
from funke.engine.sql.plan.node import Moves, PlanNode
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK, FOR_LATE_ROWS, WatermarkStep

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["IntervalJoin"]


@dataclass(frozen=True)
class IntervalJoin(TwoSidedNode):
    """Rows are kept until no row of the other input that is not late can be near enough; output rows stay."""

    operator_name: ClassVar[str] = "IntervalJoin"
    state_name: ClassVar[str] = "IntervalJoin"

    bounds: TimeBounds
    # All conditions but equal keys, as they were written: `condition` is without those on times.
    written: BoundExpression | None
    # How much longer rows are kept, so that fewer times are looked for what has expired.
    cleanup_ms: int = 0

    @property
    def left_reach_ms(self) -> int:
        """The time from a row of the left input to its last possible match."""
        # `p.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR`: an order (left) waits an hour for payments, a payment for
        # nothing.
        return -self.bounds.lower_ms

    @property
    def right_reach_ms(self) -> int:
        """The time from a row of the right input to its last possible match."""
        return self.bounds.upper_ms

    @property
    def watermark_delay_ms(self) -> int:
        """The delay of watermarks: a row may wait that long before it leaves in a pair."""
        has_delay = self.bounds.is_event_time and not self.bounds.is_empty
        return max(self.left_reach_ms, self.right_reach_ms) if has_delay else 0

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # Both inputs have rows that stay.
        return False, False

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, cleanup_ms=settings.interval_cleanup_ms)

    def needed_columns(self) -> set[int]:
        return {self.bounds.left_time, len(self.left.columns) + self.bounds.right_time}

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        is_event_time = self.bounds.is_event_time
        if not is_event_time and any(each.time is TimeAttribute.ROWTIME for each in self.columns):
            raise TableException(
                "Interval join with proctime attribute requires no event-time attributes are in the join inputs."
            )
        left_time, right_time = moves[self.bounds.left_time], moves[width + self.bounds.right_time] - new_width
        return replace(
            self,
            bounds=replace(self.bounds, left_time=left_time, right_time=right_time),
            written=None if self.written is None else moved(self.written, moves),
        )

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        if not self.bounds.is_event_time:
            return consumer_step
        # A row whose matches all lie before it is kept or not by the watermark, late or not.
        sees_all = consumer_step is not None or min(self.left_reach_ms, self.right_reach_ms) < 0
        return EVERY_WATERMARK if sees_all else FOR_LATE_ROWS

    def title(self, style: ExplainStyle) -> str:
        bounds = (
            f"isRowTime={str(self.bounds.is_event_time).lower()}, leftLowerBound={self.bounds.lower_ms}, "
            f"leftUpperBound={self.bounds.upper_ms}, leftTimeIndex={self.bounds.left_time}, "
            f"rightTimeIndex={self.bounds.right_time}"
        )
        return (
            f"IntervalJoin(joinType=[{KIND_NAMES[self.kind]}], windowBounds=[{bounds}], "
            f"where=[{self._written_text(style)}], select=[{', '.join(self.names())}])"
        )

    def _written_text(self, style: ExplainStyle) -> str:
        keys = replace(self, condition=None).condition_strings(style)
        if self.written is None:
            return joined_conditions(keys, style)
        names = self.names()
        named = with_columns(self.written, lambda column: replace(column, name=names[column.index]))
        return joined_conditions([*keys, *(expression_text(each, style) for each in conjuncts(named))], style)

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{KIND_NAMES[self.kind]} {self._written_text(ExplainStyle())}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The rows of both inputs that can still be matched; those of outer sides know whether they have been."""
        from funke.engine.sql.meaning.state_parts import key_fact

        sides = [strings.typed_columns(each, range(len(each.columns))) for each in self.inputs]
        is_outer = self.keeps_left or self.keeps_right
        times = strings.column(self.left, self.bounds.left_time), strings.column(self.right, self.bounds.right_time)
        facts = (
            ("the left side", sides[0]),
            ("the right side", sides[1]),
            key_fact(strings, self.left, self.left_keys, "the key"),
            key_fact(strings, self.right, self.right_keys, "the key of the right side"),
            (
                "the join",
                " ".join([KIND_NAMES[self.kind], *([self._written_text(ExplainStyle())] if is_outer else [])]),
            ),
            ("the times", ", ".join(times) if self.bounds.is_event_time else "those of the clock"),
        )
        return StateMeaning("IntervalJoin", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.interval_join import IntervalJoinOperator

        return IntervalJoinOperator(self, task.clock)
