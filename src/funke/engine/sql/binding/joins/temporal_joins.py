"""Binds JOIN t FOR SYSTEM_TIME AS OF a.rowtime: joins each row with the version that a table had at its time."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding import BoundColumn, BoundExpression, Column, Relation, conjuncts
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.joins.regular_joins import equal_sides

__all__ = ["VersionJoin", "bind_versions"]


@dataclass(frozen=True)
class VersionJoin(Relation):
    """The columns of the left side, then those of the version with the same key at the time of each row.

    A condition on both is looked at for each pair. A row for which there is none is left out, or kept with NULLs.
    """

    left: Relation
    right: Relation
    # The sides of equalities, on the columns of the left and of the right side.
    keys: tuple[tuple[BoundExpression, BoundExpression], ...]
    left_time: int
    # None: the table has no time, which is rejected once it is known whether it has a key.
    right_time: int | None
    condition: BoundExpression | None = None
    keeps_all: bool = False


def bind_versions(
    left: Relation,
    time: BoundExpression,
    table: Relation,
    table_columns: tuple[Column, ...],
    condition: BoundExpression,
    keeps_all: bool,
) -> VersionJoin:
    """The join of rows with versions; the condition is on the columns of the left side and the table's."""
    assert isinstance(time, BoundColumn)
    width = len(left.columns)
    conditions = conjuncts(condition)
    keys = [each for each in (equal_sides(one, width) for one in conditions) if each is not None]
    rest = [one for one in conditions if equal_sides(one, width) is None]
    rowtime = next((index for index, each in enumerate(table.columns) if each.time is TimeAttribute.ROWTIME), None)
    # The whole condition if several are left, since keys hold in any case.
    together = None if not rest else rest[0] if len(rest) == 1 else condition
    return VersionJoin(
        (*left.columns, *table_columns), left, table, tuple(keys), time.index, rowtime, together, keeps_all
    )
