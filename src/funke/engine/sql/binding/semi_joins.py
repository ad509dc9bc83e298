"""Rows that another relation has too, or has not."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Calculation, Relation, UnionAll

__all__ = ["SemiJoin"]


@dataclass(frozen=True)
class SemiJoin(Relation):
    """The rows of the left side that are on the right side too; of an anti join those that are not."""

    # The rows of both sides, so that they meet at one place: the columns, then whether a row is of the right side.
    input: UnionAll
    is_anti: bool
    # What the columns of the right side are called, for plans.
    right_names: tuple[str, ...]
    # How long the rows of a side are known after the last one of their kind; 0 is forever.
    ttl_ms: int = 0

    @property
    def keys(self) -> tuple[int, ...]:
        """Whole rows are compared; NULL is equal to NULL."""
        return tuple(range(len(self.columns)))

    @property
    def sides(self) -> tuple[Calculation, Calculation]:
        """The rows of the left and of the right side, with what says so."""
        left, right = self.input.inputs
        assert isinstance(left, Calculation) and isinstance(right, Calculation)
        return left, right
