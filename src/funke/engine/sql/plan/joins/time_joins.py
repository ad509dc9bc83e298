"""Finds the joins that are bounded in time, by windows or by the distance of times: they forget rows by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding import BoundExpression, Column
from funke.engine.sql.binding.joins.regular_joins import Join as LogicalJoin
from funke.engine.sql.binding.joins.regular_joins import all_true, columns_of_join, conditions_of
from funke.engine.sql.binding.joins.time_bounds import TimeBounds, time_bounds
from funke.engine.sql.binding.windows.window_columns import WindowEquality, window_columns, window_equality
from funke.engine.sql.plan.joins.interval_join import IntervalJoin
from funke.engine.sql.plan.joins.join_keys import KeyedSides, keyed_sides
from funke.engine.sql.plan.joins.window_join import WindowJoin
from funke.engine.sql.plan.node import PlanNode
from funke.engine.types.logical import to_sql_text, with_nullable

__all__ = ["time_join_of", "without_times"]


def time_join_of(join: LogicalJoin) -> PlanNode | None:
    """The node of a join that is bounded in time, whose sides are nodes already; None if it is a regular one."""
    windows = window_equality(join)
    if windows is not None:
        return _window_join(join, windows)
    conditions = conditions_of(join.condition)
    bounded = time_bounds(join.left.columns, join.right.columns, conditions)
    # As in Flink semi and anti joins by times are regular ones.
    if bounded is None or join.kind in ("semi", "anti"):
        return None
    bounds, others = bounded
    timed = [each for each in conditions if each not in others]
    return _interval_join(join, bounds, all_true(others), timed)


def without_times(join: LogicalJoin) -> LogicalJoin:
    """A regular join: what reads it has been bound without time attributes."""
    if join.kind not in ("semi", "anti") and any(each.time is not None for each in join.columns):
        raise UnsupportedFeatureError(
            "time attributes behind a join whose conditions bound times more than twice", "cast the times to TIMESTAMP"
        )
    return replace(join, columns=tuple(replace(each, time=None) for each in join.columns))


def _window_join(join: LogicalJoin, windows: WindowEquality) -> PlanNode:
    left_columns = window_columns(join.left, is_joined=True)
    assert left_columns is not None
    if not left_columns.maker.time.is_event_time:
        raise TableException("Processing time Window Join is not supported yet.")
    sides, condition = keyed_sides(replace(join, condition=all_true(windows.others)))
    node = WindowJoin(
        **_common_fields(join, sides, condition),
        left_window=windows.left,
        right_window=windows.right,
        time=left_columns.maker.time,
    )
    return sides.without_keys(node, join.columns)


def _interval_join(
    join: LogicalJoin, bounds: TimeBounds, others: BoundExpression | None, timed: list[BoundExpression]
) -> PlanNode:
    if bounds.is_event_time:
        _require_same_types(join.left.columns[bounds.left_time], join.right.columns[bounds.right_time])
    sides, condition = keyed_sides(replace(join, condition=others))
    rest = conditions_of(condition)
    written = [each for each in conditions_of(join.condition) if each in timed or each in rest]
    node = IntervalJoin(**_common_fields(join, sides, condition), bounds=bounds, written=sides.moved(all_true(written)))
    return sides.without_keys(node, join.columns)


def _common_fields(join: LogicalJoin, sides: KeyedSides, condition: BoundExpression | None) -> dict[str, Any]:
    inputs = (*sides.left.columns, *sides.right.columns)
    columns = columns_of_join(sides.left.columns, sides.right.columns, join.kind)
    return {
        "columns": tuple(replace(each, time=own.time) for each, own in zip(columns, inputs)),
        "left": sides.left,
        "right": sides.right,
        "left_keys": sides.left_keys,
        "right_keys": sides.right_keys,
        "kind": join.kind,
        "condition": sides.moved(condition),
    }


def _require_same_types(left: Column, right: Column) -> None:
    # TIMESTAMP is a wall clock and TIMESTAMP_LTZ an instant: they have no distance.
    if type(left.type) is not type(right.type):
        types = [f"{to_sql_text(with_nullable(each.type, True))} {each.time}" for each in (left, right)]
        raise ValidationException(
            "Interval join with rowtime attribute requires same rowtime types, but the types are "
            f"{types[0]} and {types[1]}."
        )
