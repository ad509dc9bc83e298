"""Calc: columns computed row by row, for the rows that fulfil a condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Calculation,
    calls_in,
    columns_in,
    moved,
    with_columns,
)
from funke.engine.sql.functions.surroundings import CURRENT_WATERMARK
from funke.engine.sql.plan import (
    EVERY_WATERMARK,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    expression_text,
    kept_columns,
    kind_text,
    named_text,
)
from funke.engine.types.logical.casts import is_injective_cast

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["Calc"]


@dataclass(frozen=True)
class Calc(Calculation, PlanNode):
    """Rows keep their changes and their times."""

    operator_name: ClassVar[str] = "Calc"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # A row whose update does not pass the condition must be taken back.
        return (consumer_needs or self.condition is not None,)

    def upsert_keys(self) -> UpsertKeys:
        return self._handed_on(self.input.upsert_keys())

    def unique_keys(self) -> UpsertKeys:
        return self._handed_on(self.input.unique_keys())

    def _handed_on(self, keys: UpsertKeys) -> UpsertKeys:
        """The keys all of whose columns are handed on; a column that is so several times makes several keys."""
        indexes: dict[int, list[int]] = {}
        for index, expression in enumerate(self.expressions):
            source = _source_of(expression)
            if source is not None:
                indexes.setdefault(source, []).append(index)
        return frozenset(
            frozenset(each) for key in keys for each in product(*(indexes.get(column, ()) for column in key))
        )

    def pruned(self, needed: frozenset[int]) -> Pruned:
        kept = kept_columns(needed)
        expressions = [self.expressions[index] for index in kept]
        conditions = [] if self.condition is None else [self.condition]
        source, moves = self.input.pruned(frozenset(columns_in([*expressions, *conditions])))
        # A join may number the names of its columns anew when others are gone.
        renamed = {moves[old]: each.name for old, each in enumerate(self.input.columns) if old in moves}
        names = {new: source.columns[new].name for new, name in renamed.items() if source.columns[new].name != name}

        def placed(expression: BoundExpression) -> BoundExpression:
            return with_columns(
                moved(expression, moves), lambda each: replace(each, name=names.get(each.index, each.name))
            )

        node = replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            input=source,
            expressions=tuple(map(placed, expressions)),
            condition=None if self.condition is None else placed(self.condition),
        )
        return node, {old: new for new, old in enumerate(kept)}

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        # CURRENT_WATERMARK differs from row to row with the watermark in front of them, so batches must end at each.
        calls = (call for each in (*self.expressions, self.condition) for call in calls_in(each))
        asks_watermark = any(call.call.function.name == CURRENT_WATERMARK for call in calls)
        return EVERY_WATERMARK if asks_watermark else consumer_step

    def title(self, style: ExplainStyle) -> str:
        named = ", ".join(named_text(each.name, own, style) for each, own in zip(self.columns, self.expressions))
        where = "" if self.condition is None else f", where=[{expression_text(self.condition, style)}]"
        calls = (call.call.function for each in (*self.expressions, self.condition) for call in calls_in(each))
        return f"{kind_text('Calc', calls)}(select=[{named}]{where})"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.expression_on(self.input, self.expressions[index])

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        if self.condition is not None:
            yield strings.expression_on(self.input, self.condition)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.calculate import CalculateOperator

        return CalculateOperator(self, task.clock)


def _source_of(expression: BoundExpression) -> int | None:
    """The column that an expression is, or is a cast of that keeps different values different."""
    if isinstance(expression, BoundColumn):
        return expression.index
    if not isinstance(expression, BoundFunction) or expression.call.function.name != "cast":
        return None
    argument = expression.arguments[0]
    is_kept = isinstance(argument, BoundColumn) and is_injective_cast(argument.type, expression.type)
    return argument.index if is_kept and isinstance(argument, BoundColumn) else None
