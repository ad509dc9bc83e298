"""Binds joins behind FROM: JOIN … ON, USING, NATURAL, CROSS JOIN and commas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding import (
    BoundColumn,
    BoundExpression,
    BoundFunction,
    Calculation,
    Column,
    Relation,
    columns_in,
    conjuncts,
    is_deterministic,
    time_of,
    with_columns,
)
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.scope import Scope, ScopeColumn, rejected
from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.function import bind
from funke.engine.sql.functions.rejections import type_text
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.expressions import Call, Expression, Name
from funke.engine.sql.syntax.position import Position
from funke.engine.types.logical import (
    CHARACTER,
    NUMERIC,
    DateType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    common_type,
    with_nullable,
)

__all__ = [
    "Join",
    "JoinKind",
    "all_true",
    "bind_join",
    "call_of",
    "check_joins",
    "columns_of_join",
    "conditions_of",
    "distinct_names",
    "equal_sides",
]

_TIMES = (DateType, LocalZonedTimestampType, TimestampType, TimeType)

# A semi join has the rows of the left side that have a match, an anti join those that have none.
JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
MakeBinder = Callable[[Scope], ExpressionBinder]
Joined = tuple[Relation, Scope]


@dataclass(frozen=True)
class Join(Relation):
    """The columns of the left side, then those of the right side; semi and anti joins have the left ones alone.

    The condition is on the columns of both sides, also of a semi join; without one every pair of rows matches.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    condition: BoundExpression | None = None
    # The time to live of the rows of each side, from the hint STATE_TTL; empty without one.
    ttl_hints: tuple[str, str] = field(default=("", ""), kw_only=True)
    # The hints for batch joins: a name such as BROADCAST, and a side, LEFT or RIGHT.
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
    """The columns of a join. Repeated names get a number, times become plain timestamps."""
    # A match may be with a row of yesterday, behind the watermark: so the times of a regular join are no event times.
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
    used: set[str] = set()
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in used:
            candidate, number = f"{name}{number}", number + 1
        used.add(candidate)
        distinct.append(candidate)
    return distinct


def bind_join(join: queries.Join, left: Joined, right: Joined, make: MakeBinder) -> Joined:
    """The meaning of a join of two relations."""
    kind: JoinKind = "inner" if join.kind == "cross" else join.kind
    (left_relation, left_scope), (right_relation, right_scope) = left, right
    columns = columns_of_join(left_relation.columns, right_relation.columns, kind)
    scope_columns = (*left_scope.columns, *right_scope.columns)
    scope = Scope(tuple(replace(each, type=column.type, time=None) for each, column in zip(scope_columns, columns)))
    shared = _shared_columns(join, left_scope, right_scope)
    if shared:
        equal = [_equality(left_scope, right_scope, each) for each in shared]
        relation = Join(columns, left_relation, right_relation, kind, all_true(equal))
        return _with_shared(relation, scope, shared, "natural" if join.is_natural else "using")
    condition = None
    if join.condition is not None:
        # The condition sees rows as they are in their tables: the NULLs of an outer join come behind it.
        within = Scope(scope_columns)
        within.reject_shared(join.condition)
        binder = make(within)
        _reject_converted_keys(join.condition, binder, len(left_scope.columns))
        condition = binder.bind_condition(join.condition, "ON")
    return Join(columns, left_relation, right_relation, kind, condition), scope


def check_joins(source: queries.Relation | None) -> None:
    """Rejects joins that lack a condition or have one too many, and tables with the name of another one."""
    names: set[str] = set()
    for each in _tables_of(source):
        name = each.alias or (each.path[-1] if isinstance(each, queries.TableRef) else None)
        if name is not None and name in names:
            position = each.whole_position or each.position
            raise rejected(f"Duplicate relation name '{name}' in FROM clause", position)
        names |= set() if name is None else {name}
    _check_conditions(source)


def _tables_of(source: queries.Relation | None) -> Iterator[queries.Relation]:
    if isinstance(source, queries.Join):
        yield from _tables_of(source.left)
        yield from _tables_of(source.right)
    elif source is not None:
        yield source


def _check_conditions(source: queries.Relation | None) -> None:
    if not isinstance(source, queries.Join):
        return
    _check_conditions(source.left)
    _check_conditions(source.right)
    position = source.condition_word_position
    if position is not None and source.is_natural:
        own = source.using_position if source.condition is None else source.condition.position
        raise rejected("Cannot specify NATURAL keyword with ON or USING clause", own)
    if position is not None and source.kind == "cross":
        text = "Cannot specify condition (NATURAL keyword, or ON or USING clause) following CROSS JOIN"
        raise rejected(text, position)
    # A join of the Table API has no word position, and may leave its condition out.
    if position is None and source.word_position is not None and source.kind != "cross" and not source.is_natural:
        text = "INNER, LEFT, RIGHT or FULL join requires a condition (NATURAL keyword or ON or USING clause)"
        raise rejected(text, source.word_position)


def _reject_converted_keys(condition: Expression, binder: ExpressionBinder, width: int) -> None:
    """Rejects a string as the key of a number or a time. Flink converts it only in other conditions."""
    if isinstance(condition, Call) and condition.name == "and":
        for each in condition.arguments:
            _reject_converted_keys(each, binder, width)
    if not isinstance(condition, Call) or condition.name != "=" or len(condition.arguments) != 2:
        return
    sides = [binder.bind(each) for each in condition.arguments]
    used = [list(columns_in([each])) for each in sides]
    is_key = all(used) and (max(used[0]) < width <= min(used[1]) or max(used[1]) < width <= min(used[0]))
    types = [each.type for each in sides]
    strings = [isinstance(each, CHARACTER) for each in types]
    if is_key and strings[0] != strings[1] and all(isinstance(each, (*CHARACTER, *NUMERIC, *_TIMES)) for each in types):
        raise _not_converted(*sides)


def _not_converted(one: BoundExpression, other: BoundExpression) -> TableException:
    types = " and ".join(_type_text(each) for each in (one, other))
    return TableException(f"implicit type conversion between {types} is not supported on join's condition now")


def _type_text(expression: BoundExpression) -> str:
    time = time_of(expression)
    return type_text(expression.type) + ("" if time is None else f" *{time.name}*")


@dataclass(frozen=True)
class _Shared:
    """A column that both sides have: its name, its index on each side, and its position in the text."""

    name: str
    one: int
    other: int
    position: Position | None


def _shared_columns(join: queries.Join, left: Scope, right: Scope) -> list[_Shared]:
    """The columns of USING, or for a natural join those that both sides have."""
    if join.is_natural:
        mine, theirs = _visible(left), _visible(right)
        position = join.natural_position
        return [_Shared(name, index, theirs[name], position) for name, index in mine.items() if name in theirs]
    positions = dict(zip(join.using, join.using_positions))
    shared_names = (Name((name,), position=positions.get(name)) for name in dict.fromkeys(join.using))
    return [
        _Shared(each.parts[0], left.find(each)[0].index, right.find(each)[0].index, each.position)
        for each in shared_names
    ]


def _visible(scope: Scope) -> dict[str, int]:
    return {each.name: index for index, each in enumerate(scope.columns) if not each.is_hidden}


def _equality(left: Scope, right: Scope, shared: _Shared) -> BoundExpression:
    mine, its = left.columns[shared.one], right.columns[shared.other]
    one = BoundColumn(mine.type, shared.one, mine.name, mine.time)
    other = BoundColumn(its.type, len(left.columns) + shared.other, its.name, its.time)
    if isinstance(mine.type, CHARACTER) != isinstance(its.type, CHARACTER) and all(
        isinstance(each.type, (*CHARACTER, *NUMERIC, *_TIMES)) for each in (mine, its)
    ):
        raise _not_converted(one, other)
    if common_type([mine.type, its.type]) is None:
        types = f"cannot compare '{_type_text(one)}' to '{_type_text(other)}'"
        text = f"Column '{shared.name}' matched using NATURAL keyword or USING clause has incompatible types: {types}"
        raise rejected(text, shared.position)
    return call_of("=", one, other)


def _with_shared(
    join: Join, scope: Scope, shared_columns: Sequence[_Shared], shared_by: Literal["using", "natural"]
) -> Joined:
    """The join with the shared columns in front."""
    names, pairs = [each.name for each in shared_columns], [(each.one, each.other) for each in shared_columns]
    width = len(join.left.columns)
    same = [BoundColumn(each.type, index, each.name) for index, each in enumerate(join.columns)]
    shared: list[BoundExpression] = []
    for one, other in pairs:
        mine, its = same[one], same[width + other]
        # A RIGHT JOIN may lack its left row and a LEFT JOIN its right one, so the other side has the value; a FULL JOIN
        # may lack either.
        first, second = (its, mine) if join.kind == "right" else (mine, its)
        is_enough = join.kind != "full" and mine.type == its.type
        shared.append(first if is_enough else call_of("coalesce", first, second))
    hidden = {index for one, other in pairs for index in (one, width + other)}
    columns = tuple(
        Column(name, each.type)
        for name, each in zip(distinct_names([*names, *(each.name for each in join.columns)]), (*shared, *same))
    )
    rest = (replace(each, is_hidden=each.is_hidden or i in hidden) for i, each in enumerate(scope.columns))
    front = (ScopeColumn(name, each.type, shared_by=shared_by) for name, each in zip(names, shared))
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
        # Two bounds of a time make an interval join, whether written as BETWEEN or not. RAND() would be called twice.
        if isinstance(each, BoundFunction) and each.call.function.name == "between" and is_deterministic(each):
            value, low, high = each.arguments
            parts += [call_of(">=", value, low), call_of("<=", value, high)]
        else:
            parts.append(each)
    return parts


def equal_sides(
    condition: BoundExpression, width: int, name: str = "="
) -> tuple[BoundExpression, BoundExpression] | None:
    """The two sides of an equality, each on the columns of one input; None for any other condition."""
    if not isinstance(condition, BoundFunction) or condition.call.function.name != name:
        return None
    # `l.a + 1 = r.b` is a key, by which rows are sent and found; `l.a + r.b = 3` is evaluated for each pair of rows.
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
