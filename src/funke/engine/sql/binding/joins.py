"""Gives joins behind FROM their meaning: JOIN … ON, USING, NATURAL, CROSS JOIN and commas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    columns_in,
    conjuncts,
    is_deterministic,
    with_columns,
)
from funke.engine.sql.binding.relations import Calculation, Column, Relation
from funke.engine.sql.binding.scope import Scope, ScopeColumn
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.expressions import Name
from funke.engine.types.logical.families import with_nullable

__all__ = [
    "Join",
    "JoinKind",
    "all_true",
    "bind_join",
    "call_of",
    "columns_of_join",
    "conditions_of",
    "distinct_names",
    "equal_sides",
]

# A semi join has the rows of the left side that have a match, an anti join those that have none.
JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
MakeBinder = Callable[[Scope], ExpressionBinder]
Joined = tuple[Relation, Scope]


@dataclass(frozen=True)
class Join(Relation):
    """The columns of the left side, then those of the right side; semi and anti joins have the left ones alone.

    The condition is on the columns of both sides, whatever the kind; without one every pair of rows matches.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    condition: BoundExpression | None = None
    # How long the rows of each side are kept, as a hint says it.
    ttl_hints: tuple[str, str] = field(default=("", ""), kw_only=True)
    # How batches join, as hints say it: a name and a side, LEFT or RIGHT.
    hints: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    @property
    def keeps_left(self) -> bool:
        """Whether rows of the left side without a match are kept."""
        return self.kind in ("left", "full")

    @property
    def keeps_right(self) -> bool:
        """Whether rows of the right side without a match are kept."""
        return self.kind in ("right", "full")


def columns_of_join(left: Sequence[Column], right: Sequence[Column], kind: JoinKind) -> tuple[Column, ...]:
    """The columns of a join: names that occur again get a number; times are plain timestamps behind it."""
    if kind in ("semi", "anti"):
        return tuple(Column(each.name, each.type) for each in left)
    names = distinct_names([each.name for each in (*left, *right)])
    optional = (kind in ("right", "full"), kind in ("left", "full"))
    sides = [(each, is_optional) for side, is_optional in zip((left, right), optional) for each in side]
    return tuple(
        Column(name, with_nullable(each.type, True) if is_optional else each.type)
        for name, (each, is_optional) in zip(names, sides)
    )


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names that occur again get a number, as in Flink: a, a0, a1."""
    taken: set[str] = set()
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in taken:
            candidate, number = f"{name}{number}", number + 1
        taken.add(candidate)
        distinct.append(candidate)
    return distinct


def bind_join(join: queries.Join, left: Joined, right: Joined, make: MakeBinder) -> Joined:
    """The meaning of a join of two relations."""
    kind: JoinKind = "inner" if join.kind == "cross" else join.kind
    (left_relation, left_scope), (right_relation, right_scope) = left, right
    columns = columns_of_join(left_relation.columns, right_relation.columns, kind)
    given = (*left_scope.columns, *right_scope.columns)
    scope = Scope(tuple(replace(each, type=column.type, time=None) for each, column in zip(given, columns)))
    shared = _shared_names(join, left_scope, right_scope)
    if shared:
        pairs = [(left_scope.index_of(name), right_scope.index_of(name)) for name in shared]
        equal = [_equality(left_scope, right_scope, one, other) for one, other in pairs]
        relation = Join(columns, left_relation, right_relation, kind, all_true(equal))
        return _with_shared(relation, scope, shared, pairs)
    condition = None
    if join.condition is not None:
        # Inside of the condition no row is missing yet, so that nothing is NULL that its table does not have so.
        condition = make(Scope(given)).bind_condition(join.condition, "ON")
    return Join(columns, left_relation, right_relation, kind, condition), scope


def _shared_names(join: queries.Join, left: Scope, right: Scope) -> list[str]:
    """The columns behind USING, or of a natural join those that both sides have."""
    if join.is_natural:
        theirs = {each.name for each in right.columns}
        return [each.name for each in left.columns if each.name in theirs and not each.is_hidden]
    for name in join.using:
        for side in (left, right):
            side.find(Name((name,), position=join.position))
    return list(join.using)


def _equality(left: Scope, right: Scope, one: int, other: int) -> BoundExpression:
    width = len(left.columns)
    mine, its = left.columns[one], right.columns[other]
    arguments = (BoundColumn(mine.type, one, mine.name), BoundColumn(its.type, width + other, its.name))
    return call_of("=", *arguments)


def _with_shared(join: Join, scope: Scope, names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Joined:
    """The join with the shared columns in front: each has the value of the side that has one."""
    width = len(join.left.columns)
    same = [BoundColumn(each.type, index, each.name) for index, each in enumerate(join.columns)]
    shared: list[BoundExpression] = []
    for one, other in pairs:
        mine, its = same[one], same[width + other]
        shared.append(its if join.kind == "right" else call_of("coalesce", mine, its) if join.kind == "full" else mine)
    hidden = {index for one, other in pairs for index in (one, width + other)}
    columns = tuple(
        Column(name, each.type)
        for name, each in zip(distinct_names([*names, *(each.name for each in join.columns)]), (*shared, *same))
    )
    rest = (replace(each, is_hidden=each.is_hidden or i in hidden) for i, each in enumerate(scope.columns))
    front = (ScopeColumn(name, each.type) for name, each in zip(names, shared))
    return Calculation(columns, join, (*shared, *same)), Scope((*front, *rest))


def all_true(conditions: Sequence[BoundExpression]) -> BoundExpression | None:
    """One condition that is true where all are; None without any."""
    if not conditions:
        return None
    first, *others = conditions
    for each in others:
        first = call_of("and", first, each)
    return first


def conditions_of(condition: BoundExpression | None) -> list[BoundExpression]:
    """The conditions that must all be true for one to be; BETWEEN is two."""
    parts: list[BoundExpression] = []
    for each in () if condition is None else conjuncts(condition):
        if isinstance(each, BoundFunction) and each.call.function.name == "between" and is_deterministic(each):
            value, low, high = each.arguments
            parts += [call_of(">=", value, low), call_of("<=", value, high)]
        else:
            parts.append(each)
    return parts


def equal_sides(condition: BoundExpression, width: int) -> tuple[BoundExpression, BoundExpression] | None:
    """What a condition says must be equal: of the columns of the left side, and of the right side's."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name != "=":
        return None
    first, second = condition.arguments
    for one, other in ((first, second), (second, first)):
        mine, its = list(columns_in([one])), list(columns_in([other]))
        if mine and its and max(mine) < width <= min(its):
            return one, with_columns(other, lambda column: replace(column, index=column.index - width))
    return None


def call_of(name: str, *arguments: BoundExpression) -> BoundExpression:
    """A call of a function that every session has."""
    call = bind(FUNCTIONS[name], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)
