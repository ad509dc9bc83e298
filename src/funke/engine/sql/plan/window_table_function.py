"""WindowTableFunction: rows with their windows, at once, or when the session of a row has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowTable
from funke.engine.sql.plan import (
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    column_name,
    finer,
)
from funke.engine.sql.plan.windows import WINDOW_COLUMNS, window_step, windows_text

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["SessionWindowTableFunction", "WindowTableFunction"]


@dataclass(frozen=True)
class WindowTableFunction(WindowTable, PlanNode):
    """Tumbling, hopping and cumulating windows: a row of several windows leaves several times. It keeps no state."""

    operator_name: ClassVar[str] = "WindowTableFunction"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        first = len(self.columns) - len(WINDOW_COLUMNS)
        used = {index for index in needed if index < first} | {self.time.column, *(self.partition_by or ())}
        source, moves = self.input.pruned(frozenset(used))
        # Names may be others than those of the input, whose columns may be more than were asked for.
        named = {moves[each]: self.columns[each] for each in used}
        node = replace(
            self,
            columns=(*_renamed(source, named), *self.columns[first:]),
            input=source,
            time=replace(self.time, column=moves[self.time.column]),
            partition_by=None if self.partition_by is None else tuple(moves[each] for each in self.partition_by),
        )
        bounds = {first + number: len(source.columns) + number for number in range(len(WINDOW_COLUMNS))}
        return node, {each: moves[each] for each in used} | bounds

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        # The windows of a row follow from its own time: watermarks make no difference.
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        inputs = self.input.columns
        time = f"time_col=[{column_name(inputs[self.time.column])}]"
        windows = windows_text(time, self.windows, [inputs[index] for index in self.partition_by or ()])
        return f"WindowTableFunction(window=[{windows}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        number = index - len(self.input.columns)
        if number < 0:
            return strings.column(self.input, index)
        keys = strings.columns(self.input, self.partition_by or ())
        partition = f" PARTITION BY {keys}" if keys else ""
        return f"{strings.windows(self.input, self.windows, self.time)}{partition}.{WINDOW_COLUMNS[number]}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.window_table import WindowTableOperator

        return WindowTableOperator(self)


@dataclass(frozen=True)
class SessionWindowTableFunction(WindowTableFunction):
    """Sessions of the rows of each key, which wait until their session has ended."""

    state_name: ClassVar[str] = "WindowTableFunction"

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.partition_by or ()),)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, window_step(self.time, self.windows))

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import COLUMNS, columns_of, input_facts, key_fact, window_fact

        source = self.input
        facts = (
            key_fact(strings, source, self.partition_by or (), "PARTITION BY"),
            window_fact(strings, source, self.windows, self.time, None),
            *input_facts(strings, source),
        )
        return StateMeaning("WindowTableFunction", facts, ((COLUMNS, columns_of(strings, source)),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.session_windows.session_table import SessionTableOperator

        return SessionTableOperator(self)


def _renamed(source: PlanNode, columns: Mapping[int, Column]) -> list[Column]:
    return [columns.get(index, own) for index, own in enumerate(source.columns)]
