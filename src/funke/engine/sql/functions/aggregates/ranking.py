"""Functions of OVER windows alone: the number, the rank, and the rows before the current one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.counting import COUNT
from funke.engine.sql.functions.function import Argument, TypeRule
from funke.engine.types.logical import BigIntType, DataType, DoubleType, with_nullable

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["RANKINGS", "RANKING", "ROW_NUMBER"]


class _LagBody(AggregateBody):
    """Keeps as many values as the offset reaches back, and the default for missing rows."""

    def create(self) -> list[Any]:
        return [1, None, []]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        value, offset, default = (*arguments, 1, None)[:3] if len(arguments) < 2 else (*arguments, None)[:3]
        accumulator[0], accumulator[1] = offset, default
        accumulator[2] = [*accumulator[2][-offset:], value] if offset else [value]

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        # No more values are kept than the offset needs, so none has to be removed.
        pass

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        raise NotImplementedError("LAG has no meaning in windows that are put together")

    def value(self, accumulator: list[Any]) -> SqlValue:
        offset, default, values = accumulator
        # As in Flink, a NULL counts as a missing row.
        return default if len(values) <= offset or values[0] is None else values[0]


class _RankBody(AggregateBody):
    """Counts the rows before the first one of the same time, or the times before it."""

    def __init__(self, is_dense: bool) -> None:
        self._is_dense = is_dense

    def create(self) -> list[Any]:
        return [0, None, 0]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        count, last, rank = accumulator
        if count == 0 or arguments[0] != last:
            rank = rank + 1 if self._is_dense else count + 1
        accumulator[:] = count + 1, arguments[0], rank

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        raise NotImplementedError("ranks have no lower bound")

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        raise NotImplementedError("ranks have no meaning in windows that are put together")

    def value(self, accumulator: list[Any]) -> SqlValue:
        return accumulator[2]


def _lag_type(arguments: Sequence[Argument]) -> DataType:
    has_default = len(arguments) > 2 and not arguments[2].type._nullable
    return arguments[0].type if has_default else with_nullable(arguments[0].type, True)


def _lag_body(call: AggregateCall) -> AggregateBody:
    return _LagBody()


def _rank_body(call: AggregateCall) -> AggregateBody:
    return _RankBody(call.function.name == "dense_rank")


def _no_body(call: AggregateCall) -> AggregateBody:
    raise UnsupportedFeatureError(f"{call.function.name.upper()} without all rows of its partition")


def _share(arguments: Sequence[Argument]) -> DataType:
    return DoubleType(False)


def _number(arguments: Sequence[Argument]) -> DataType:
    return BigIntType(False)


ROW_NUMBER = AggregateFunction(
    ("row_number",),
    "",
    _number,
    COUNT.body_for,
    COUNT.kernel_for,
    has_value_when_empty=True,
    purpose="The number of the row.",
)

RANKING: tuple[AggregateFunction, ...] = (
    ROW_NUMBER,
    AggregateFunction(
        ("rank",), "any", _number, _rank_body, has_value_when_empty=True, purpose="One more than the rows before."
    ),
    AggregateFunction(
        ("dense_rank",), "any", _number, _rank_body, has_value_when_empty=True, purpose="The number of the time."
    ),
    AggregateFunction(("lag",), "any, integer?, any?", _lag_type, _lag_body, purpose="The value some rows before."),
)


def _ranking(name: str, forms: str, result: TypeRule, purpose: str) -> AggregateFunction:
    return AggregateFunction((name,), forms, result, _no_body, has_value_when_empty=True, purpose=purpose)


# With all rows of a partition at hand these follow from the indexes of rows; nothing is accumulated.
RANKINGS: tuple[AggregateFunction, ...] = (
    ROW_NUMBER,
    _ranking("rank", "", _number, "One more than the rows before."),
    _ranking("dense_rank", "", _number, "The number of the value among those of the order."),
    _ranking("percent_rank", "", _share, "The part of the other rows that stands before."),
    _ranking("cume_dist", "", _share, "The part of all rows up to the row."),
    _ranking("ntile", "integer", _number, "The number of one of so many parts of about the same size."),
    _ranking("lag", "any, integer?, any?", _lag_type, "The value some rows before."),
    _ranking("lead", "any, integer?, any?", _lag_type, "The value some rows behind."),
)
