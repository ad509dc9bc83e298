"""Correlate: each row with the rows that a table function, or a collection (UNNEST), gives for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.plan import (
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    expression_text,
    field_names,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["REPEATED", "Correlate"]

# The function that repeats a row as often as a set operation with ALL says.
REPEATED = "$REPLICATE_ROWS$1"


@dataclass(frozen=True)
class Correlate(Correlation, PlanNode):
    """The rows keep the change and the time of the row that they are made for."""

    operator_name: ClassVar[str] = "Correlate"

    input: PlanNode

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        # The rows of an update are not known by a key: those of before are taken back one by one.
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        fields = field_names(self.columns, separator=",")
        arguments = [expression_text(each, style) for each in self.arguments]
        call = f"{'$UNNEST_ROWS$1' if self.function is None else self.function.name}({', '.join(arguments)})"
        if self.function is None and arguments[0].startswith(REPEATED):
            call = arguments[0]
        name = "Correlate" if self.function is None else "PythonCorrelate"
        kind = "LEFT" if self.keeps_all else "INNER"
        return f"{name}(invocation=[{call}], correlate=[table({call})], select=[{fields}], joinType=[{kind}])"

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        from funke.engine.sql.meaning.column_strings import user_function_text

        own = index - len(self.input.columns)
        if own < 0:
            return strings.column(self.input, index)
        name = "UNNEST" if self.function is None else user_function_text(self.function)
        arguments = ", ".join(strings.expression_on(self.input, each) for each in self.arguments)
        return f"{name}({arguments}).{own}"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.correlate import CorrelateOperator

        return CorrelateOperator(self, task.clock)
