"""Conditions in the plain form that Flink's plans have, in which the keys of joins are found.

NOT (a = b)                              a <> b
TRUE AND a, 1 = 1 AND a, a AND a         a
(a AND b) OR (a AND c)                   a AND (b OR c)
a = b OR (a IS NULL AND b IS NULL)       a IS NOT DISTINCT FROM b
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from funke.engine.sql.binding.expressions import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    BoundFunction,
    conjuncts,
    is_deterministic,
)
from funke.engine.sql.binding.joins.regular_joins import all_true
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.types.logical.families import with_nullable

__all__ = ["disjuncts", "plain_conditions", "with_constants"]

_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def plain_conditions(condition: BoundExpression | None) -> list[BoundExpression]:
    """The conditions that must all be true for one to be, each once and in plain form."""
    parts: list[BoundExpression] = []
    for each in [] if condition is None else conjuncts(condition):
        parts += [part for part in _plain(each) if part not in parts and not _is_true(part)]
    return parts


def disjuncts(condition: BoundExpression) -> list[BoundExpression]:
    """The conditions one of which must be true for one to be."""
    if not _is_call(condition, "or"):
        return [condition]
    return [part for each in _arguments(condition) for part in disjuncts(each)]


def with_constants(conditions: Sequence[BoundExpression]) -> list[BoundExpression]:
    """Conditions with a = b instead of which b is equal to what a is said to be: a = 5 AND a = b is a = 5 AND b = 5."""
    constants: dict[int, BoundConstant] = {}
    for each in conditions:
        arguments = _arguments(each) if _is_call(each, "=") else ()
        for one, other in (arguments, arguments[::-1]) if arguments else ():
            if isinstance(one, BoundColumn) and isinstance(other, BoundConstant) and other.value is not None:
                constants.setdefault(one.index, other)
    changed_conditions: list[BoundExpression] = []
    for each in conditions:
        changed = _with_constant(each, constants)
        changed_conditions += [] if changed in changed_conditions or _is_true(changed) else [changed]
    return changed_conditions


def _with_constant(condition: BoundExpression, constants: Mapping[int, BoundConstant]) -> BoundExpression:
    if not _is_call(condition, "="):
        return condition
    one, other = _arguments(condition)
    if not isinstance(one, BoundColumn) or not isinstance(other, BoundColumn):
        return condition
    # Columns of other types would be compared after a cast, so the constant is not a value of the other one.
    if with_nullable(one.type, True) != with_nullable(other.type, True):
        return condition
    if one.index in constants:
        return _call("=", other, constants[one.index])
    return _call("=", one, constants[other.index]) if other.index in constants else condition


def _plain(condition: BoundExpression) -> list[BoundExpression]:
    if _is_call(condition, "not"):
        (inner,) = _arguments(condition)
        # NOT (a < b) is a >= b also for NULL: both are unknown then.
        opposite = _OPPOSITES.get(_name(inner))
        return [condition if opposite is None else _call(opposite, *_arguments(inner))]
    if not _is_call(condition, "or"):
        return [condition]
    parts = disjuncts(condition)
    equal = _equal_with_nulls(parts)
    return [equal] if equal is not None else _without_common(condition, parts)


def _equal_with_nulls(parts: Sequence[BoundExpression]) -> BoundExpression | None:
    """IS NOT DISTINCT FROM, if that is what is said."""
    for one, other in (parts, parts[::-1]) if len(parts) == 2 else ():
        nulls = conjuncts(other)
        if _is_call(one, "=") and len(nulls) == 2 and all(_is_call(each, "is null") for each in nulls):
            missing = [_arguments(each)[0] for each in nulls]
            if missing in (list(_arguments(one)), list(_arguments(one))[::-1]):
                return _call("is not distinct from", *_arguments(one))
    return None


def _without_common(condition: BoundExpression, parts: Sequence[BoundExpression]) -> list[BoundExpression]:
    """The conditions that all parts of an OR share, and the rest of it."""
    all_conditions = [conjuncts(each) for each in parts]
    first, *others = all_conditions
    # (a AND b) OR (a AND c) is a AND (b OR c): what is common may be a key of a join, or go into a source.
    common = [each for each in first if all(each in some for some in others) and is_deterministic(each)]
    if not common:
        return [condition]
    rest = [all_true([each for each in some if each not in common]) for some in all_conditions]
    left = [each for each in rest if each is not None]
    # One that says no more than what they have in common: the others add nothing.
    return common if len(left) < len(rest) else [*common, _any_true(left)]


def _any_true(conditions: Iterable[BoundExpression]) -> BoundExpression:
    first, *others = conditions
    for each in others:
        first = _call("or", first, each)
    return first


def _is_true(condition: BoundExpression) -> bool:
    if isinstance(condition, BoundConstant):
        return condition.value is True
    if not _is_call(condition, "="):
        return False
    one, other = _arguments(condition)
    return isinstance(one, BoundConstant) and one == other and one.value is not None


def _name(expression: BoundExpression) -> str:
    return expression.call.function.name if isinstance(expression, BoundFunction) else ""


def _is_call(expression: BoundExpression, name: str) -> bool:
    return _name(expression) == name


def _arguments(expression: BoundExpression) -> tuple[BoundExpression, ...]:
    return expression.arguments if isinstance(expression, BoundFunction) else ()


def _call(name: str, *arguments: BoundExpression) -> BoundExpression:
    call = bind(FUNCTIONS[name], [each.as_argument() for each in arguments])
    return BoundFunction(call.result, call, arguments)
