"""WindowJoin: the pairs of rows that are in the same window, once the window has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.windows.window_columns import JoinedWindows, window_columns
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.plan import INSERTS, ExplainStyle, Kinds, Moves, PlanNode, WatermarkStep, column_name, finer
from funke.engine.sql.plan.joins.join import KIND_NAMES, TwoSidedNode
from funke.engine.sql.plan.windows import session_keys, window_step, windows_text

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["WindowJoin"]


@dataclass(frozen=True, kw_only=True)
class WindowJoin(TwoSidedNode, JoinedWindows):
    """Rows are kept until their window ends; output rows stay."""

    operator_name: ClassVar[str] = "WindowJoin"
    state_name: ClassVar[str] = "WindowJoin"

    left: PlanNode
    right: PlanNode
    # Start and end of windows, which rows of both inputs carry.
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    time: WindowTime

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # Both inputs have rows that stay.
        return False, False

    def needed_columns(self) -> set[int]:
        width = len(self.left.columns)
        return {*self.left_window, *(width + each for each in self.right_window)}

    def with_moved_columns(self, moves: Moves, width: int, new_width: int) -> PlanNode:
        left_start, left_end = (moves[each] for each in self.left_window)
        right_start, right_end = (moves[width + each] - new_width for each in self.right_window)
        return replace(self, left_window=(left_start, left_end), right_window=(right_start, right_end))

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        left_columns = window_columns(self.left)
        assert left_columns is not None
        return finer(consumer_step, window_step(self.time, left_columns.maker.windows))

    def title(self, style: ExplainStyle) -> str:
        left = _windows_of(self.left, self.left_window)
        right = _windows_of(self.right, self.right_window)
        return (
            f"WindowJoin(leftWindow=[{left}], rightWindow=[{right}], joinType=[{KIND_NAMES[self.kind]}], "
            f"where=[{self.where_text(style)}], select=[{', '.join(self.names()[: len(self.columns)])}])"
        )

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{KIND_NAMES[self.kind]} IN WINDOWS {self.where_text(ExplainStyle())}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The rows of windows that have not ended; what a pair must fulfil is looked at later."""
        from funke.engine.sql.meaning import key_fact

        sides = [strings.typed_columns(each, range(len(each.columns))) for each in self.inputs]
        facts = (
            ("the left side", sides[0]),
            ("the right side", sides[1]),
            key_fact(strings, self.left, self.left_keys, "the key"),
            key_fact(strings, self.right, self.right_keys, "the key of the right side"),
            ("windows", strings.columns(self.left, self.left_window)),
            ("windows of the right side", strings.columns(self.right, self.right_window)),
        )
        return StateMeaning("WindowJoin", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.window_join import WindowJoinOperator

        return WindowJoinOperator(self, task.clock)


def _windows_of(source: PlanNode, bounds: tuple[int, int]) -> str:
    window_of_source = window_columns(source)
    assert window_of_source is not None and window_of_source.maker.windows is not None
    start, end = (column_name(source.columns[index]) for index in bounds)
    keys = session_keys(window_of_source.maker)
    return windows_text(f"win_start=[{start}], win_end=[{end}]", window_of_source.maker.windows, keys)
