"""Gives JOIN t FOR SYSTEM_TIME AS OF a.rowtime its meaning: each row with the version that a table had at its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    columns_in,
    conjuncts,
    with_columns,
)
from funke.engine.sql.binding.relations import Calculation, Column, Relation, Scan, UnionAll
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.types.logical.atomic_types import BooleanType
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.families import with_nullable
from funke.engine.types.logical.sql_text import to_sql_text

__all__ = ["TemporalJoin", "bind_versions"]

_NEEDED = "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but no"


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
    right_time: int
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
    rowtime = _check(table, keys)
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
        first + width + rowtime,
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


def _check(table: Relation, keys: Sequence[tuple[BoundExpression, BoundExpression]]) -> int:
    """Refuses tables without versions, and keys that do not say which; returns the place of the table's time."""
    primary = _primary_key(table)
    if not primary:
        raise ValidationException(f"{_NEEDED} primary key can be found.")
    times = [place for place, each in enumerate(table.columns) if each.time is TimeAttribute.ROWTIME]
    if not times:
        raise ValidationException(f"{_NEEDED} row time attribute can be found.")
    given = {right.index for _, right in keys if isinstance(right, BoundColumn)}
    if not given >= set(primary):
        needed, found = (", ".join(table.columns[place].name for place in each) for each in (primary, sorted(given)))
        raise ValidationException(
            f"Temporal table's primary key [{needed}] must be included in the equivalence condition of temporal join, "
            f"but current temporal join condition is [{found}]."
        )
    for one, other in keys:
        if to_column_type(one.type) != to_column_type(other.type):
            raise UnsupportedFeatureError(
                f"a temporal join by {to_sql_text(one.type)} and {to_sql_text(other.type)}", "cast one of them"
            )
    return times[0]


def _primary_key(table: Relation) -> tuple[int, ...]:
    if isinstance(table, Scan):
        names = [each.name for each in table.columns]
        return tuple(names.index(each) for each in table.primary_key)
    if isinstance(table, WatermarkAssigner):
        return _primary_key(table.input)
    if isinstance(table, Calculation):
        places = {each.index: place for place, each in enumerate(table.expressions) if isinstance(each, BoundColumn)}
        found = _primary_key(table.input)
        return tuple(places[each] for each in found) if all(each in places for each in found) else ()
    return ()


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
