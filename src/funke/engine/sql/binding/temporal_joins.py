"""Gives JOIN t FOR SYSTEM_TIME AS OF a.rowtime its meaning: each row with the version that a table had at its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    columns_in,
    conjuncts,
    with_columns,
)
from funke.engine.sql.binding.relations import Calculation, Column, Relation, UnionAll
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.types.logical.atomic_types import BooleanType
from funke.engine.types.logical.families import with_nullable

__all__ = ["TemporalJoin", "bind_versions"]


@dataclass(frozen=True)
class TemporalJoin(Relation):
    """The columns of the left side, then those of the version with the same key at the time of each row.

    A condition on both is looked at for each pair. A row for which there is none is left out, or kept with NULLs.
    """

    # The rows of both sides, so that they meet at one place: whether a row is of the right side, the keys, the columns
    # of the left side, those of the right side; NULL for what the other side has.
    input: UnionAll
    keys: tuple[int, ...]
    # Among the columns of the input.
    left_time: int
    # None: the table has no time, which is refused once it is known whether it has a key.
    right_time: int | None
    left_width: int
    condition: BoundExpression | None = None
    keeps_all: bool = False


def bind_versions(
    left: Relation,
    time: BoundExpression,
    table: Relation,
    shown: tuple[Column, ...],
    condition: BoundExpression,
    keeps_all: bool,
) -> TemporalJoin:
    """The join of rows with versions; the condition is on the columns of the left side and the table's."""
    assert isinstance(time, BoundColumn)
    width = len(left.columns)
    conditions = conjuncts(condition)
    keys = [each for each in (_key(one, width) for one in conditions) if each is not None]
    rest = [one for one in conditions if _key(one, width) is None]
    rowtime = next((place for place, each in enumerate(table.columns) if each.time is TimeAttribute.ROWTIME), None)
    first = 1 + len(keys)
    columns = _union_columns(left, table, [right for _, right in keys])
    sides = (
        _side(left, columns, False, [one for one, _ in keys], first),
        _side(table, columns, True, [other for _, other in keys], first + width),
    )
    return TemporalJoin(
        (*left.columns, *shown),
        UnionAll(columns, sides),
        tuple(range(1, first)),
        first + time.index,
        None if rowtime is None else first + width + rowtime,
        width,
        # The whole one if several are left, since keys hold in any case.
        None if not rest else rest[0] if len(rest) == 1 else condition,
        keeps_all,
    )


def _key(condition: BoundExpression, width: int) -> tuple[BoundExpression, BoundExpression] | None:
    """What must be equal: of the columns of the left side, and of the table's."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name != "=":
        return None
    first, second = condition.arguments
    for one, other in ((first, second), (second, first)):
        mine, its = list(columns_in([one])), list(columns_in([other]))
        if mine and its and max(mine) < width <= min(its):
            return one, with_columns(other, lambda column: replace(column, index=column.index - width))
    return None


def _union_columns(left: Relation, table: Relation, keys: Sequence[BoundExpression]) -> tuple[Column, ...]:
    named = [
        *((f"key{place}", each.type) for place, each in enumerate(keys)),
        *((f"left{place}", each.type) for place, each in enumerate(left.columns)),
        *((f"right{place}", each.type) for place, each in enumerate(table.columns)),
    ]
    return (
        Column("is_right", BooleanType(False)),
        *(Column(name, with_nullable(kind, True)) for name, kind in named),
    )


def _side(
    relation: Relation, columns: tuple[Column, ...], is_right: bool, keys: Sequence[BoundExpression], first: int
) -> Calculation:
    expressions: list[BoundExpression] = [BoundConstant(each.type, None) for each in columns]
    expressions[: len(keys) + 1] = [BoundConstant(columns[0].type, is_right), *keys]
    own = [BoundColumn(each.type, place, each.name) for place, each in enumerate(relation.columns)]
    expressions[first : first + len(own)] = own
    return Calculation(columns, relation, tuple(expressions))
