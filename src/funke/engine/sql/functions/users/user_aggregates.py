"""Aggregate functions that users wrote, as functions of SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.type_rules import always
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.sql.user_values import from_user_value, to_user_value
from funke.engine.types.logical import DataType, RowType, from_sql_text

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["UserAggregate", "as_aggregate", "declared_types", "result_fields"]


@dataclass(frozen=True)
class UserAggregate(AggregateFunction):
    """A user function; its evaluator opens and closes `user.function`."""

    user: UserFunction | None = None

    @property
    def input_types(self) -> tuple[DataType, ...] | None:
        """The types that its arguments are cast to; None if it takes them as they are."""
        assert self.user is not None
        return declared_types(self.user)


def declared_types(user: UserFunction) -> tuple[DataType, ...] | None:
    """The types that a user function declares for its arguments; None if it takes them as they are."""
    return None if user.input_types is None else tuple(map(_data_type, user.input_types))


def result_fields(user: UserFunction) -> list[tuple[str, DataType]]:
    """The columns of the rows that a table aggregate function gives."""
    types = list(map(_data_type, user.result_types))
    if len(types) == 1 and isinstance(types[0], RowType):
        return [(each.name, each.data_type) for each in types[0]]
    return [(f"f{index}", each) for index, each in enumerate(types)]


def as_aggregate(user: UserFunction) -> UserAggregate:
    """Return a user's aggregate function as an SQL function."""
    if user.kind != "aggregate":
        raise UnsupportedFeatureError(f"the {user.kind} function '{user.name}' as an aggregate")
    return UserAggregate(
        (user.name,),
        "any... |",
        always(_data_type(user.result_types[0])),
        _UserBody,
        # It is asked for its value without rows too.
        has_value_when_empty=True,
        user=user,
    )


def _data_type(declared: DataType | str) -> DataType:
    return from_sql_text(declared) if isinstance(declared, str) else declared


class _UserBody(AggregateBody):
    def __init__(self, call: AggregateCall) -> None:
        assert isinstance(call.function, UserAggregate) and call.function.user is not None
        user = call.function.user
        if user.is_pandas:
            raise TableException("Pandas UDAFs are not supported in streaming mode currently.")
        self._function = user.function
        self._convert = _converted([to_user_value(each) for each in call.types])
        self._result = from_user_value(call.result)

    def create(self) -> Any:
        return self._function.create_accumulator()

    def accumulate(self, accumulator: Any, *arguments: SqlValue) -> None:
        self._function.accumulate(accumulator, *self._convert(arguments))

    def retract(self, accumulator: Any, *arguments: SqlValue) -> None:
        self._function.retract(accumulator, *self._convert(arguments))

    def merge(self, accumulator: Any, other: Any) -> None:
        # PyFlink's merge takes an iterable of accumulators.
        self._function.merge(accumulator, [other])

    def value(self, accumulator: Any) -> SqlValue:
        value = self._function.get_value(accumulator)
        return value if self._result is None else self._result(value)


def _converted(converts: list[Callable[[Any], Any] | None]) -> Callable[[tuple[Any, ...]], Any]:
    if not any(converts):
        return lambda values: values
    return lambda values: [each if convert is None else convert(each) for convert, each in zip(converts, values)]
