"""The relation of rows that Spark computes."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Relation, Sort

__all__ = ["SparkRows"]


@dataclass(frozen=True)
class SparkRows(Relation):
    """The rows of the input, which a DataFrame of Spark's gives; without event times beside them."""

    input: Relation

    @property
    def is_ordered(self) -> bool:
        """Whether whoever reads them has to keep their order."""
        return isinstance(self.input, Sort)
