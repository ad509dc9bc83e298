"""Rank: the first rows of each key by an order, as far as rows have come; LIMIT makes one without keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.plan import (
    NO_KEYS,
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    containing,
    field_names,
    kept_columns,
    one_key,
    order_text,
    same_columns,
    updates,
)
from funke.engine.sql.plan.pruning import without_unused
from funke.engine.sql.plan.ranks.rank_strategy import RankStrategy
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["Rank"]

# Three kinds of state, none of which reads another one; savepoints know them by these words.
_ONE_ROW, _TOP_ROWS, _RANKED_ROWS = "KeepOneRow", "KeepTopRows", "RankRows"


@dataclass(frozen=True)
class Rank(PlanNode):
    """The rows whose number among those of their key is within `first` … `last`.

    The columns are those of the input, then the number if `has_number`. Without an order rows stand as they came.
    """

    input: PlanNode
    keys: tuple[int, ...]
    order: tuple[SortKey, ...]
    first: int
    last: int
    has_number: bool = False
    # Made of LIMIT, with an order or without: it passes whole rows on.
    is_limit: bool = False
    strategy: RankStrategy = RankStrategy.APPEND
    # The columns whose values tell rows of the input apart (UPDATE).
    row_key: tuple[int, ...] = ()
    # Whether the consumer needs rows as they were before a change (UPDATE_BEFORE).
    sends_before: bool = True
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0

    @property
    def operator_name(self) -> str:
        return "Rank" if self.keys else "SortLimit" if self.order else "Limit"

    @property
    def state_name(self) -> str:
        return f"{self.operator_name} {self._state_kind}"

    @property
    def _state_kind(self) -> str:
        """The first row alone, and whole rows that stay, are simpler than others."""
        if self.first == self.last == 1 and self.strategy is not RankStrategy.RETRACT:
            return _ONE_ROW
        # An update or an offset moves rows between numbers, which needs the rows behind the last number as well.
        is_top = self.is_limit and self.first == 1 and self.strategy is RankStrategy.APPEND
        return _TOP_ROWS if is_top else _RANKED_ROWS

    @property
    def sends_numbers(self) -> bool:
        """Whether every number whose row changed is emitted: with an offset nothing less is correct."""
        return self.has_number or self.first > 1

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.keys),)

    def changelog(self) -> Kinds:
        return updates(self.sends_before, RowKind.DELETE)

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (self.strategy is RankStrategy.RETRACT,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        return replace(self, sends_before=sends_before, ttl_ms=settings.ttl_ms)

    def upsert_keys(self) -> UpsertKeys:
        """One row of each key; or a number of each key, and what tells rows of the input apart."""
        if self.first == self.last:
            return one_key(self.keys)
        numbers = one_key((*self.keys, len(self.columns) - 1)) if self.has_number else NO_KEYS
        return numbers | containing(self.input.upsert_keys(), self.keys)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        if self.is_limit and self.strategy is not RankStrategy.APPEND:
            # Whole rows tell which one goes.
            return replace(self, input=without_unused(self.input)), same_columns(self)
        width = len(self.input.columns)
        own = {index for index in needed if index < width}
        used = own | {*self.keys, *self.row_key} | {key.index for key in self.order}
        source, moves = self.input.pruned(frozenset(kept_columns(frozenset(used))))
        node = replace(
            self,
            columns=(*source.columns, *self.columns[width:]),
            input=source,
            keys=tuple(moves[key] for key in self.keys),
            order=tuple(replace(key, index=moves[key.index]) for key in self.order),
            row_key=tuple(moves[key] for key in self.row_key),
        )
        # The number is a column of the node itself, behind those of the input.
        number = {width: len(source.columns)} if self.has_number else {}
        return node, {each: moves[each] for each in used} | number

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        strategy = self.strategy.value
        if self.row_key:
            strategy += f"[{','.join(map(str, self.row_key))}]"
        order = order_text(self.columns, self.order)
        if self.is_limit:
            limits = f"offset=[{self.first - 1}], fetch=[{self.last - self.first + 1}]"
            if not self.order:
                return f"Limit({limits})"
            return f"SortLimit(orderBy=[{order}], {limits}, strategy=[{strategy}])"
        keys, fields = field_names(self.columns, self.keys), field_names(self.columns)
        return (
            f"Rank(strategy=[{strategy}], rankType=[ROW_NUMBER], rankRange=[rankStart={self.first}, "
            f"rankEnd={self.last}], partitionBy=[{keys}], orderBy=[{order}], select=[{fields}])"
        )

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        is_number = index >= len(self.input.columns)
        return self._number_text(strings) if is_number else strings.column(self.input, index)

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        yield f"{self._number_text(strings)} BETWEEN {self.first} AND {self.last}"

    def _number_text(self, strings: ColumnStrings) -> str:
        return strings.row_number(self.input, self.keys, self.order)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning:
        from funke.engine.sql.meaning import COLUMNS, columns_of, input_facts, key_fact, rows_fact
        from funke.engine.sql.operators.ranks.keep_one_row import stored_row_parts

        source = self.input
        first_rows = (
            key_fact(strings, source, self.keys, "PARTITION BY"),
            ("ORDER BY", strings.order(source, self.order) or "()"),
            ("numbers", f"{self.first} to {self.last}"),
        )
        if self._state_kind == _ONE_ROW:
            facts = (*first_rows, *input_facts(strings, source))
            return StateMeaning("Rank of one row", facts, ((COLUMNS, stored_row_parts(strings, self)),))
        if self._state_kind == _TOP_ROWS:
            return StateMeaning("SortLimit", (*first_rows, rows_fact(strings, source)))
        facts = (
            *first_rows,
            ("the strategy", self.strategy.value),
            ("rows told by", "number" if self.sends_numbers else "themselves"),
            ("rows replaced by", strings.typed_columns(source, self.row_key) or "none"),
            *input_facts(strings, source),
        )
        return StateMeaning("Rank", facts, ((COLUMNS, columns_of(strings, source)),))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.ranks.keep_one_row import KeepOneRowOperator, KeptRow
        from funke.engine.sql.operators.ranks.rank_rows import RankRowsOperator
        from funke.engine.sql.operators.ranks.stream_orders import KeepTopRowsOperator

        if self._state_kind == _ONE_ROW:
            return KeepOneRowOperator(self, KeptRow(self.order))
        return KeepTopRowsOperator(self) if self._state_kind == _TOP_ROWS else RankRowsOperator(self)
