"""Joins by keys that are computed: these become columns of their sides, which are left out behind the join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    columns_in,
    moved,
    symbol_of,
)
from funke.engine.sql.binding.joins.regular_joins import Join as LogicalJoin
from funke.engine.sql.binding.joins.regular_joins import (
    JoinKind,
    all_true,
    columns_of_join,
    conditions_of,
    distinct_names,
    equal_sides,
)
from funke.engine.sql.binding.joins.temporal_joins import VersionJoin
from funke.engine.sql.binding.relations import Column, Relation
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.plan.calc import Calc
from funke.engine.sql.plan.joins.join import Join
from funke.engine.sql.plan.joins.temporal_join import TemporalJoin
from funke.engine.sql.plan.node import PlanNode
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.common_type import common_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.families import with_nullable

__all__ = ["KeyPair", "KeyedSides", "join_of", "keyed_sides", "temporal_join_of", "with_keys"]

# What must be equal, of the columns of the left and of the right side.
KeyPair = tuple[BoundExpression, BoundExpression]


@dataclass(frozen=True)
class KeyedSides:
    """The two sides of a join with their keys as columns."""

    left: PlanNode
    right: PlanNode
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    # From the index of a column of both sides to its index beside the computed keys.
    moves: dict[int, int]
    # What the keys are, and the numbers of those where NULL is equal to NULL.
    pairs: tuple[KeyPair, ...] = ()
    equal_nulls: tuple[int, ...] = ()

    def moved(self, condition: BoundExpression | None) -> BoundExpression | None:
        """A condition on the columns of both sides, beside the computed keys."""
        return None if condition is None else moved(condition, self.moves)

    def without_keys(self, node: PlanNode, columns: Sequence[Column]) -> PlanNode:
        """The columns of a join without the computed keys."""
        if len(node.columns) == len(columns):
            return node
        same = (BoundColumn(each.type, self.moves[index], each.name, each.time) for index, each in enumerate(columns))
        return Calc(tuple(columns), node, tuple(same))


def join_of(join: LogicalJoin) -> PlanNode:
    """The node of a join whose sides are nodes already."""
    sides, condition = keyed_sides(join, has_equal_nulls=True)
    columns = columns_of_join(sides.left.columns, sides.right.columns, join.kind)
    keys = sides.left_keys, sides.right_keys
    where = all_true(list(_written_conditions(join, sides)))
    node = Join(
        columns,
        sides.left,
        sides.right,
        *keys,
        join.kind,
        sides.moved(condition),
        sides.equal_nulls,
        ttl_hints=join.ttl_hints,
        hints=join.hints,
        where=where,
    )
    return sides.without_keys(node, join.columns)


def keyed_sides(join: LogicalJoin, has_equal_nulls: bool = False) -> tuple[KeyedSides, BoundExpression | None]:
    """The sides of a join with its keys, and what is left of its condition, on the columns without computed keys.

    With `has_equal_nulls` IS NOT DISTINCT FROM becomes a key, too.
    """
    width = len(join.left.columns)
    pairs: list[KeyPair] = []
    equal_nulls: list[int] = []
    rest: list[BoundExpression] = []
    for each in conditions_of(join.condition):
        pair = _key_of(each, width)
        is_with_nulls = pair is None and has_equal_nulls
        if is_with_nulls:
            pair = _key_of(each, width, "is not distinct from")
        if pair is None:
            rest.append(each)
        elif pair not in pairs:
            equal_nulls += [len(pairs)] if is_with_nulls else []
            pairs.append(pair)
    sides = _with_pairs(join.left, join.right, pairs)
    return replace(sides, equal_nulls=tuple(equal_nulls)), all_true(rest)


def _key_of(condition: BoundExpression, width: int, name: str = "=") -> KeyPair | None:
    equal = equal_sides(condition, width, name)
    return None if equal is None else _of_one_type(*equal)


def _written_conditions(join: LogicalJoin, sides: KeyedSides) -> Iterator[BoundExpression]:
    """The parts of a join's condition in their order, on the columns of both sides and their keys."""
    width, new_width = len(join.left.columns), len(sides.left.columns)
    seen: list[KeyPair] = []
    for each in conditions_of(join.condition):
        pair = _key_of(each, width) or _key_of(each, width, "is not distinct from")
        if pair is None:
            yield moved(each, sides.moves)
        elif pair not in seen:
            seen.append(pair)
            number = sides.pairs.index(pair)
            left, right = sides.left_keys[number], sides.right_keys[number]
            one = BoundColumn(sides.left.columns[left].type, left, "")
            other = BoundColumn(sides.right.columns[right].type, new_width + right, "")
            assert isinstance(each, BoundFunction)
            is_turned = min(columns_in(each.arguments[:1])) >= width
            yield replace(each, arguments=(other, one) if is_turned else (one, other))


def temporal_join_of(join: VersionJoin) -> PlanNode:
    """The node of a join with versions whose sides are nodes already."""
    sides = _with_pairs(join.left, join.right, join.keys)
    width = len(join.left.columns)
    added, more = sides.left.columns[width:], sides.right.columns[len(join.right.columns) :]
    columns = (*join.columns[:width], *added, *join.columns[width:], *more)
    kind: JoinKind = "left" if join.keeps_all else "inner"
    keys, condition = (sides.left_keys, sides.right_keys), sides.moved(join.condition)
    node = TemporalJoin(columns, sides.left, sides.right, *keys, kind, condition, join.left_time, join.right_time)
    return sides.without_keys(node, join.columns)


def _with_pairs(left: Relation, right: Relation, pairs: Sequence[KeyPair]) -> KeyedSides:
    width = len(left.columns)
    new_left, left_keys = with_keys(left, [one for one, _ in pairs])
    new_right, right_keys = with_keys(right, [other for _, other in pairs])
    added = len(new_left.columns) - width
    both = range(width + len(right.columns))
    moves = {index: index if index < width else index + added for index in both}
    return KeyedSides(new_left, new_right, left_keys, right_keys, moves, tuple(pairs))


def with_keys(side: Relation, keys: Sequence[BoundExpression]) -> tuple[PlanNode, tuple[int, ...]]:
    """A side of a join with its keys as columns, and the indexes of these."""
    assert isinstance(side, PlanNode)
    first = len(side.columns)
    # As in Flink: what is cast for the other side comes last.
    computed = sorted((each for each in keys if not isinstance(each, BoundColumn)), key=_is_cast_column)
    indexes = tuple(each.index if isinstance(each, BoundColumn) else first + computed.index(each) for each in keys)
    if not computed:
        return side, indexes
    same = [BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(side.columns)]
    # The names that Flink's plans have.
    own = [each.arguments[0] if _is_cast_column(each) else None for each in computed]  # type: ignore[attr-defined]
    names = [each.name if isinstance(each, BoundColumn) else f"$f{first + number}" for number, each in enumerate(own)]
    distinct = distinct_names([*(each.name for each in side.columns), *names])[first:]
    added = tuple(Column(name, each.type) for name, each in zip(distinct, computed))
    return Calc((*side.columns, *added), side, (*same, *computed)), indexes


def _is_cast_column(expression: BoundExpression) -> bool:
    is_cast = isinstance(expression, BoundFunction) and expression.call.function.name == "cast"
    return is_cast and isinstance(expression, BoundFunction) and isinstance(expression.arguments[0], BoundColumn)


def _of_one_type(one: BoundExpression, other: BoundExpression) -> KeyPair | None:
    """Two keys, cast where they are of different types; None if there is no type for both."""
    key_type = common_type([one.type, other.type])
    return None if key_type is None else (_cast(one, key_type), _cast(other, key_type))


def _cast(key: BoundExpression, key_type: DataType) -> BoundExpression:
    if to_column_type(key.type) == to_column_type(key_type):
        return key
    word = symbol_of(with_nullable(key_type, key.type._nullable))
    call = bind(FUNCTIONS["cast"], [key.as_argument(), word.as_argument()])
    return BoundFunction(call.result, call, (key, word))
