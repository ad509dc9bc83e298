"""SparkRows: the rows of a plan that a DataFrame of Spark computes, in batch mode."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Sort
from funke.engine.sql.plan import ExplainStyle, PassThrough, field_names

__all__ = ["SparkRows"]


@dataclass(frozen=True)
class SparkRows(PassThrough):
    """Rows without event times; to the job it is a source."""

    @property
    def is_ordered(self) -> bool:
        """True if the reader has to keep their order."""
        return isinstance(self.input, Sort)

    def title(self, style: ExplainStyle) -> str:
        return f"SparkRows(select=[{field_names(self.columns)}])"
