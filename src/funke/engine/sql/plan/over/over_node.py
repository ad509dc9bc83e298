"""The base of OVER nodes: the rows of the input, with a column for each call behind those of the input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from funke.engine.sql.binding.relations import BoundAggregate
from funke.engine.sql.plan import Distribution, Hash, Moves, PlanNode, Pruned, column_name, kind_text, used_by

if TYPE_CHECKING:
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["OverNode", "frame_unit"]

N = TypeVar("N", bound="OverNode")


def frame_unit(is_rows: bool) -> str:
    """The unit of a frame: ROWS or RANGE."""
    return "ROWS" if is_rows else "RANGE"


@dataclass(frozen=True)
class OverNode(PlanNode):
    """Rows of a partition meet in one subtask."""

    if TYPE_CHECKING:
        # Those of the relations that its nodes inherit.
        input: PlanNode
        partition_by: tuple[int, ...]

        @property
        def aggregates(self) -> tuple[BoundAggregate, ...]: ...

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.partition_by),)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    @abstractmethod
    def order_columns(self) -> set[int]:
        """The columns of the input that the order of rows needs."""

    @abstractmethod
    def narrowed(self: N, calls: Sequence[int], moves: Moves) -> N:
        """The node with some of its calls, whose columns and those of the order stand elsewhere."""

    def pruned(self, needed: frozenset[int]) -> Pruned:
        first = len(self.input.columns)
        kept = [number for number in range(len(self.aggregates)) if first + number in needed]
        used = {index for index in needed if index < first} | used_by(self.aggregates[number] for number in kept)
        used |= {*self.partition_by} | self.order_columns()
        # Keys and order stay among the columns even if no consumer reads them: the node adds columns to those of its
        # input.
        source, moves = self.input.pruned(frozenset(used))
        node = replace(
            self.narrowed(kept, moves),
            columns=(*source.columns, *(self.columns[first + number] for number in kept)),
            input=source,
            partition_by=tuple(moves[each] for each in self.partition_by),
        )
        results = {first + number: len(source.columns) + index for index, number in enumerate(kept)}
        return node, {each: moves[each] for each in used} | results

    def over_title(self, parts: Iterable[str], results: Iterable[str]) -> str:
        """The title with its own parts, and the results behind the columns of the input."""
        inputs = self.input.columns
        keys = ", ".join(column_name(inputs[index]) for index in self.partition_by)
        partition_by = [f"partitionBy=[{keys}]"] if keys else []
        select = ", ".join([*map(column_name, inputs), *results])
        kind = kind_text("OverAggregate", (each.call.function for each in self.aggregates))
        return f"{kind}({', '.join([*partition_by, *parts, f'select=[{select}]'])})"

    @abstractmethod
    def frame_text(self, strings: ColumnStrings, number: int) -> str:
        """The order of rows, and which of them a call sees."""

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        number = index - len(self.input.columns)
        if number < 0:
            return strings.column(self.input, index)
        keys = strings.columns(self.input, self.partition_by)
        call = strings.call(self.input, self.aggregates[number])
        return f"{call} OVER (PARTITION BY {keys} ORDER BY {self.frame_text(strings, number)})"
