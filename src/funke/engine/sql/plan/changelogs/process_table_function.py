"""ProcessTableFunction: TO_CHANGELOG and FROM_CHANGELOG, changes as rows that say what they are, and the way back."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.plan import (
    ALL_KINDS,
    INSERTS,
    ExplainStyle,
    Kinds,
    PlanNode,
    Pruned,
    WatermarkStep,
    column_name,
    same_columns,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["FromChangelogFunction", "ToChangelogFunction"]


@dataclass(frozen=True)
class _ProcessTableFunction(PlanNode):
    operator_name: ClassVar[str] = "ProcessTableFunction"

    @property
    @abstractmethod
    def function_name(self) -> str:
        """The name of the function in SQL."""

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def pruned(self, needed: frozenset[int]) -> Pruned:
        return self, same_columns(self)

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        fields = ",".join(map(column_name, self.columns))
        return f"ProcessTableFunction(invocation=[{self.function_name}(TABLE(#0))], select=[{fields}])"


@dataclass(frozen=True)
class ToChangelogFunction(ToChangelog, _ProcessTableFunction):
    """The kind of a change is the first column."""

    function_name: ClassVar[str] = "TO_CHANGELOG"

    input: PlanNode

    def changelog(self) -> Kinds:
        # A retraction is a row like any other from here on: what was taken back is said by its code alone.
        return INSERTS

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.input, index - 1) if index else "OP"

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.changelog_rows import WriteKindsOperator

        return WriteKindsOperator(self)


@dataclass(frozen=True)
class FromChangelogFunction(FromChangelog, _ProcessTableFunction):
    """The column with the kind of a change is left out."""

    function_name: ClassVar[str] = "FROM_CHANGELOG"

    input: PlanNode

    def changelog(self) -> Kinds:
        # The kinds stand in the data, so any of them may come.
        return ALL_KINDS

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        return strings.column(self.input, index + (index >= self.op_index))

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.changelogs.changelog_rows import ReadKindsOperator

        return ReadKindsOperator(self)
