"""Puts conditions where they leave out rows earliest: WHERE into joins, and what looks at one side below it.

A condition that no row with NULLs fulfils makes an outer join an inner one, as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Calculation,
    Relation,
    columns_in,
    conjuncts,
    inputs_of,
    is_deterministic,
    with_columns,
    with_inputs,
)
from funke.engine.sql.binding.joins.join_times import has_join
from funke.engine.sql.binding.joins.regular_joins import Join, JoinKind, all_true, columns_of_join
from funke.engine.sql.binding.merged_calculations import merged_pair
from funke.engine.sql.binding.windows.window_columns import looks_at_columns
from funke.engine.sql.rules.plain_conditions import disjuncts, plain_conditions, with_constants

__all__ = ["filtered", "rejecting_null", "side_of", "with_join_conditions"]

# Functions that are NULL, so not true, wherever one of their arguments is.
_STRICT = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "cast", "upper", "lower", "like"})
_WITHOUT_RIGHT: dict[JoinKind, JoinKind] = {"left": "inner", "full": "right"}
_WITHOUT_LEFT: dict[JoinKind, JoinKind] = {"right": "inner", "full": "left"}


def with_join_conditions(relation: Relation) -> Relation:
    """Gives joins all of their conditions, those of WHERE among them."""
    if not _has_join(relation):
        return relation
    while isinstance(relation, Calculation) and isinstance(relation.input, Calculation):
        together = merged_pair(relation, relation.input)
        if together is None:
            relation = _with_condition_below(relation, relation.input)
            break
        relation = together
    if isinstance(relation, Calculation) and isinstance(relation.input, Join) and relation.condition is not None:
        relation = _with_where(relation, relation.input, plain_conditions(relation.condition))
    if isinstance(relation, Join):
        own = plain_conditions(relation.condition)
        own = with_constants(own) if relation.kind == "inner" else own
        relation = _with_sides(replace(relation, condition=all_true(own)))
    return with_inputs(relation, with_join_conditions)


def _with_condition_below(outer: Calculation, inner: Calculation) -> Calculation:
    """Moves conditions on columns that the inner calculation hands on down to it."""
    if outer.condition is None or not has_join(inner):
        return outer
    conditions = conjuncts(outer.condition)
    below = [each for each in conditions if is_deterministic(each) and looks_at_columns(inner, each)]
    own = [] if inner.condition is None else conjuncts(inner.condition)
    inlined = [with_columns(each, lambda column: inner.expressions[column.index]) for each in below]
    changed = replace(inner, condition=all_true([*own, *inlined]))
    return replace(outer, input=changed, condition=all_true([each for each in conditions if each not in below]))


def _has_join(relation: Relation) -> bool:
    return isinstance(relation, Join) or any(map(_has_join, inputs_of(relation)))


def _with_where(calculation: Calculation, join: Join, conditions: Sequence[BoundExpression]) -> Relation:
    width = len(join.left.columns)
    kind = _kind_where(join.kind, conditions, width)
    inside = [each for each in conditions if _may_move(each, kind, width)]
    outside = [each for each in conditions if each not in inside]
    own = [] if join.condition is None else conjuncts(join.condition)
    if kind != join.kind or kind == "inner":
        columns = columns_of_join(join.left.columns, join.right.columns, kind)
        timed = tuple(replace(each, time=own.time) for each, own in zip(columns, join.columns))
        join = replace(join, kind=kind, columns=timed)
    if kind == "inner":
        join = replace(join, condition=all_true([*own, *inside]))
    else:
        left = filtered(join.left, [each for each in inside if side_of(each, width) == "left"])
        right = filtered(join.right, [_behind(each, width) for each in inside if side_of(each, width) == "right"])
        join = replace(join, left=left, right=right)
    return replace(calculation, input=join, condition=all_true(outside))


def _kind_where(kind: JoinKind, conditions: Iterable[BoundExpression], width: int) -> JoinKind:
    """The kind of join whose rows can fulfil conditions at all."""
    # WHERE r.x > 0 is not true for a row padded with NULLs: a LEFT JOIN below it is an INNER JOIN, as in Flink.
    for each in conditions:
        if _rejects_nulls(each, lambda index: index >= width):
            kind = _WITHOUT_RIGHT.get(kind, kind)
        if _rejects_nulls(each, lambda index: index < width):
            kind = _WITHOUT_LEFT.get(kind, kind)
    return kind


def _rejects_nulls(condition: BoundExpression, is_of_side: Callable[[int], bool]) -> bool:
    """True if a condition cannot be true for a row that has NULLs on a side."""
    parts = disjuncts(condition)
    if len(parts) > 1:
        return all(_rejects_nulls(each, is_of_side) for each in parts)
    return any(is_of_side(index) for each in conjuncts(condition) for index in rejecting_null(each))


def rejecting_null(condition: BoundExpression) -> Iterable[int]:
    """The columns that are not NULL wherever a condition is true."""
    if isinstance(condition, BoundColumn):
        yield condition.index
    elif isinstance(condition, BoundFunction) and condition.call.function.name in (*_STRICT, "is not null"):
        for each in condition.arguments:
            if isinstance(each, BoundColumn) or condition.call.function.name in _STRICT:
                yield from rejecting_null(each)


def side_of(condition: BoundExpression, width: int) -> str:
    """The side whose columns a condition reads: left, right, both or none."""
    used = set(columns_in([condition]))
    if not used:
        return "none"
    return "left" if max(used) < width else "right" if min(used) >= width else "both"


def _may_move(condition: BoundExpression, kind: JoinKind, width: int) -> bool:
    """True if a condition on the rows of a join may be evaluated before it, or with the join's own."""
    if not is_deterministic(condition):
        return False
    side = side_of(condition, width)
    # On the padded side of an outer join a condition would change which rows have a match.
    sides = {"inner": ("left", "right", "both"), "left": ("left",), "right": ("right",), "semi": ("left",)}
    return side in sides.get(kind, ("left",) if kind == "anti" else ())


def _with_sides(join: Join) -> Join:
    """The join whose own conditions on one side alone are looked at before, where that is the same."""
    if join.condition is None:
        return join
    width = len(join.left.columns)
    # Flink leaves the conditions of an anti join where they are.
    below = {"inner": ("left", "right"), "semi": ("left", "right"), "right": ("left",), "left": ("right",)}.get(
        join.kind, ()
    )
    conditions = conjuncts(join.condition)
    moving = [each for each in conditions if is_deterministic(each) and side_of(each, width) in below]
    if not moving:
        return join
    return replace(
        join,
        left=filtered(join.left, [each for each in moving if side_of(each, width) == "left"]),
        right=filtered(join.right, [_behind(each, width) for each in moving if side_of(each, width) == "right"]),
        condition=all_true([each for each in conditions if each not in moving]),
    )


def _behind(condition: BoundExpression, width: int) -> BoundExpression:
    """A condition on the right side alone, on its own columns."""
    return with_columns(condition, lambda column: replace(column, index=column.index - width))


def filtered(side: Relation, conditions: Sequence[BoundExpression]) -> Relation:
    """The rows for which all conditions are true."""
    if not conditions:
        return side
    same = (BoundColumn(each.type, index, each.name, each.time) for index, each in enumerate(side.columns))
    return Calculation(side.columns, side, tuple(same), all_true(conditions))
