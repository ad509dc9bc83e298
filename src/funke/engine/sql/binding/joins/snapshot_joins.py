"""Binds JOIN LATERAL SNAPSHOT(…): joins each row with the rows that a changing table has when it arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.operators.time.clock import SystemClock
from funke.engine.sql.binding import BoundExpression, Column, Relation, column_of, is_deterministic
from funke.engine.sql.binding.expression_binder import ExpressionBinder
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.joins.regular_joins import JoinKind
from funke.engine.sql.binding.scope import Scope, ScopeColumn, names_of, rejected
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.types.logical import DayTimeIntervalType, LocalZonedTimestampType, with_nullable

__all__ = ["LoadPhase", "SnapshotJoin", "bind_snapshot_join", "is_snapshot_join"]

BindSource = Callable[[queries.Relation], tuple[Relation, Scope]]
MakeBinder = Callable[[Scope], ExpressionBinder]

_ONE_ROW = pa.record_batch([pa.nulls(1)], names=[""])


@dataclass(frozen=True)
class LoadPhase:
    """The end of loading, until which rows of the left side wait for those of the right side."""

    # The watermark of the right side that ends it; it may be the time at which the query was planned.
    completed_ms: int
    is_compile_time: bool = False
    # It ends, too, when that watermark has not moved for so long.
    idle_timeout_ms: int | None = None


@dataclass(frozen=True)
class SnapshotJoin(Relation):
    """The columns of the left side, then those of the rows that the right side has when a row of the left side arrives.

    The times of the left side stay what they are; those of the right side are plain columns.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    # On the columns of both sides.
    condition: BoundExpression | None
    # The time column that orders the changes of the right side; None in batches, which only have the last rows.
    right_time: int | None
    load: LoadPhase
    # How long unused keys are kept; None: as long as the session says.
    ttl_ms: int | None = None


def is_snapshot_join(source: queries.Relation) -> bool:
    """Whether a relation is, or joins with, a SNAPSHOT."""
    right = source.right if isinstance(source, queries.Join) else source
    return isinstance(right, queries.SnapshotFunction)


def bind_snapshot_join(
    join: Any, bind_source: BindSource, make: MakeBinder, is_streaming: bool
) -> tuple[Relation, Scope]:
    """The meaning of a join with the function SNAPSHOT."""
    if not isinstance(join, queries.Join) or not isinstance(join.right, queries.SnapshotFunction):
        raise _misplaced()
    function = join.right
    if not function.is_lateral:
        raise _misplaced()
    if function.partition_by:
        raise rejected(
            "Only tables with set semantics may be partitioned. Invalid PARTITION BY clause in the 0-th operand of "
            "table function 'SNAPSHOT'",
            function.position,
        )
    if join.kind not in ("inner", "left", "cross") or join.using or join.is_natural:
        raise UnsupportedFeatureError(f"{join.kind.upper()} JOIN LATERAL SNAPSHOT", "it is INNER or LEFT, with ON")
    left, left_scope = bind_source(join.left)
    right, right_scope = bind_source(function.input)
    kind: JoinKind = "left" if join.kind == "left" else "inner"
    names = names_of(function, [each.name for each in right_scope.columns])
    table_columns = tuple(
        Column(name, with_nullable(each.type, each.type._nullable or kind == "left"))
        for name, each in zip(names, right.columns)
    )
    scope = Scope(
        (
            *left_scope.columns,
            *(ScopeColumn(each.name, each.type, function.alias or "SNAPSHOT") for each in table_columns),
        )
    )
    condition = None if join.condition is None else make(scope).bind_condition(join.condition, "ON")
    time = _time_column(function, _named(right.columns, right_scope)) if is_streaming else None
    load = _load_phase(function, make)
    ttl_ms = _interval_ms("state_ttl", function.state_ttl, make)
    return SnapshotJoin((*left.columns, *table_columns), left, right, kind, condition, time, load, ttl_ms), scope


def _named(columns: tuple[Column, ...], scope: Scope) -> tuple[Column, ...]:
    """Columns under the names that a query has for them."""
    return tuple(replace(each, name=named.name) for each, named in zip(columns, scope.columns))


def _misplaced() -> ValidationException:
    return ValidationException(
        "The SNAPSHOT function can only be used as the build side (right-hand side) of a LATERAL join"
    )


def _time_column(function: queries.SnapshotFunction, columns: tuple[Column, ...]) -> int:
    if function.on_time is None:
        raise ValidationException(
            "LATERAL SNAPSHOT requires the 'on_time' argument: on_time => DESCRIPTOR(column), the column of the "
            "build-side input that has its watermark."
        )
    name = _descriptor(function.on_time)
    index = next((index for index, each in enumerate(columns) if each.name == name), None)
    if index is None:
        raise ValidationException(f"The 'on_time' column '{name}' does not exist in the build-side input.")
    if columns[index].time is not TimeAttribute.ROWTIME:
        raise ValidationException("LATERAL SNAPSHOT requires a watermark on the build-side input.")
    return index


def _descriptor(expression: syntax.Expression) -> str:
    if isinstance(expression, syntax.Call) and expression.name == "descriptor" and len(expression.arguments) == 1:
        (column,) = expression.arguments
        if isinstance(column, syntax.Name):
            return column.parts[0]
    raise ValidationException("The descriptor for argument 'on_time' must contain exactly one column name.")


def _load_phase(function: queries.SnapshotFunction, make: MakeBinder) -> LoadPhase:
    idle_ms = _interval_ms("load_completed_idle_timeout", function.load_completed_idle_timeout, make)
    completed_time = function.load_completed_time
    if completed_time is None:
        return LoadPhase(SystemClock().now_ms(), True, idle_ms)
    timestamp = syntax.Cast(completed_time, LocalZonedTimestampType(3), position=completed_time.position)
    scalar = _constant("load_completed_time", make(Scope()).bind(timestamp))
    return LoadPhase(int(scalar.cast(pa.timestamp("ms", scalar.type.tz)).value), False, idle_ms)


def _interval_ms(name: str, interval: syntax.Expression | None, make: MakeBinder) -> int | None:
    if interval is None:
        return None
    bound = make(Scope()).bind(interval)
    if not isinstance(bound.type, DayTimeIntervalType):
        raise rejected("No match found for function signature SNAPSHOT", interval.position)
    value = _constant(name, bound)
    length_ms = int(value.cast(pa.duration("ms")).value if pa.types.is_duration(value.type) else value.as_py())
    if length_ms < 0:
        raise ValidationException(f"Argument '{name}' of SNAPSHOT must not be negative")
    return length_ms


def _constant(name: str, expression: BoundExpression) -> Any:
    if not is_deterministic(expression):
        raise ValidationException(f"Argument '{name}' of SNAPSHOT must be a constant expression")
    value = column_of(expression)(_ONE_ROW)
    return value if isinstance(value, pa.Scalar) else value[0]
