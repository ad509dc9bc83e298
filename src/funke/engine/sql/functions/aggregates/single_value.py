"""SINGLE_VALUE: the value of the only row; what a query within an expression is, if it could have more."""

from __future__ import annotations

from typing import Any

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateFunction
from funke.engine.sql.functions.type_rules import like_argument

__all__ = ["SINGLE_VALUE"]


class _SingleBody(AggregateBody):
    """Value, and how many rows there are."""

    def create(self) -> list[Any]:
        return [None, 0]

    def accumulate(self, accumulator: list[Any], *arguments: Any) -> None:
        if accumulator[1] > 0:
            raise _several_rows()
        accumulator[:] = [arguments[0], accumulator[1] + 1]

    def retract(self, accumulator: list[Any], *arguments: Any) -> None:
        if accumulator[1] not in (0, 1):
            raise _several_rows()
        accumulator[:] = [None, accumulator[1] - 1]

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        if accumulator[1] > 0 and other[1] > 0:
            raise _several_rows()
        value = other[0] if other[1] > 0 else accumulator[0]
        accumulator[:] = [value, accumulator[1] + other[1]]

    def value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]


def _several_rows() -> TableException:
    return TableException("SingleValueAggFunction received more than one element.")


SINGLE_VALUE = AggregateFunction(
    ("single_value",),
    "any",
    like_argument(),
    lambda call: _SingleBody(),
    purpose="The value of the only row; several rows are an error.",
)
