"""WindowRank and WindowDeduplicate: the first rows of each key and window, once the window has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.over.ranks import RankedWindows
from funke.engine.sql.binding.windows.window_columns import window_columns
from funke.engine.sql.binding.windows.window_relations import WindowAggregation, WindowTable
from funke.engine.sql.plan import (
    INSERTS,
    NO_KEYS,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    column_name,
    containing,
    finer,
    one_key,
)
from funke.engine.sql.plan.windows import session_keys, window_step, windows_text

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["WindowDeduplicate", "WindowRank"]


@dataclass(frozen=True)
class WindowRank(RankedWindows, PlanNode):
    """Keeps the rows of open windows, except those behind the last number."""

    operator_name: ClassVar[str] = "WindowRank"
    state_name: ClassVar[str] = "WindowRank"

    input: PlanNode

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        # Sent once, when the window has ended. A Rank sends its first rows as they come and takes them back.
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def upsert_keys(self) -> UpsertKeys:
        keys = (*self.keys, *self.window_columns)
        # One row for each key and window. With several, their number tells them apart, or a key of the input does.
        if self.first == self.last:
            return one_key(keys)
        numbers = one_key((*keys, len(self.columns) - 1)) if self.has_number else NO_KEYS
        return numbers | containing(self.input.upsert_keys(), self.keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        width, (start, end) = len(self.input.columns), self.window_columns
        used = {index for index in needed if index < width} | {*self.keys, start, end}
        used |= {key.index for key in self.order}
        source, moves = self.input.pruned(frozenset(used))
        node = replace(
            self,
            columns=(*source.columns, *self.columns[width:]),
            input=source,
            keys=tuple(moves[key] for key in self.keys),
            window_columns=(moves[start], moves[end]),
            order=tuple(replace(key, index=moves[key.index]) for key in self.order),
        )
        number = {width: len(source.columns)} if self.has_number else {}
        return node, {each: moves[each] for each in used} | number

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return finer(consumer_step, window_step(self.time, self._windows_of().windows))

    def _windows_of(self) -> WindowTable | WindowAggregation:
        """The relation that has assigned the windows."""
        bounds = window_columns(self.input)
        assert bounds is not None
        return bounds.maker

    def windows_text(self) -> str:
        """The windows, and the columns that rows carry them in."""
        maker = self._windows_of()
        assert maker.windows is not None
        start, end = (column_name(self.columns[index]) for index in self.window_columns)
        return windows_text(f"win_start=[{start}], win_end=[{end}]", maker.windows, session_keys(maker))

    def title(self, style: ExplainStyle) -> str:
        keys = ", ".join(column_name(self.columns[index]) for index in self.keys)
        names = [*map(column_name, self.input.columns), *(["w0$o0"] if self.has_number else [])]
        order = ", ".join(
            f"{column_name(self.columns[each.index])} {'ASC' if each.is_ascending else 'DESC'}" for each in self.order
        )
        return (
            f"WindowRank(window=[{self.windows_text()}], rankType=[ROW_NUMBER], rankRange=[rankStart={self.first}, "
            f"rankEnd={self.last}], partitionBy=[{keys}], orderBy=[{order}], select=[{', '.join(names)}])"
        )

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.input, index) if index < len(self.input.columns) else self._number_text(strings)

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{self._number_text(strings)} BETWEEN {self.first} AND {self.last}"

    def _number_text(self, strings: ColumnStrings) -> str:
        return strings.row_number(self.input, (*self.keys, *self.window_columns), self.order)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        from funke.engine.sql.meaning import COLUMNS, columns_of, key_fact, window_fact

        source = self.input
        facts = (
            key_fact(strings, source, self.keys, "PARTITION BY"),
            window_fact(strings, source, None, self.time, self.window_columns),
            ("ORDER BY", strings.order(source, self.order)),
            ("numbers", f"{self.first} to {self.last}"),
            ("of equal rows the", "last one first" if self.keeps_last else "first one first"),
        )
        return StateMeaning("WindowRank", facts, ((COLUMNS, columns_of(strings, source)),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.windows.window_rank import WindowRankOperator

        return WindowRankOperator(self)


@dataclass(frozen=True)
class WindowDeduplicate(WindowRank):
    """The first or the last row of each key and window by time."""

    operator_name: ClassVar[str] = "WindowDeduplicate"
    state_name: ClassVar[str] = "WindowDeduplicate"

    def title(self, style: ExplainStyle) -> str:
        keys = ", ".join(column_name(self.columns[index]) for index in self.keys)
        keep, order = "LastRow" if self.keeps_last else "FirstRow", column_name(self.columns[self.order[0].index])
        return (
            f"WindowDeduplicate(window=[{self.windows_text()}], keep=[{keep}], partitionKeys=[{keys}], "
            f"orderKey=[{order}], order=[ROWTIME])"
        )
