"""Aggregate functions of users that cannot be put together, or want all rows at once: rows are kept until then."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from funke.engine.operators.functions.table_functions import ImperativeAggregateFunction
from funke.engine.sql.functions.aggregates.aggregate import AggregateCall
from funke.engine.sql.functions.aggregates.catalog import create_kernel
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.users.user_aggregates import UserAggregate
from funke.engine.sql.functions.users.user_scalars import pandas_argument
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.user_values import from_user_value

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GatheredRows", "group_kernel", "window_kernel"]


def group_kernel(call: AggregateCall, has_retractions: bool = False) -> AggregateKernel:
    """The kernel of a call for the rows of a group."""
    function = call.function
    if isinstance(function, UserAggregate) and function.user is not None and function.user.is_pandas:
        return GatheredRows(call)
    return create_kernel(call, has_retractions)


def window_kernel(call: AggregateCall, has_retractions: bool = False) -> AggregateKernel:
    """The kernel of a call in windows, which merge accumulators or take rows back."""
    function = call.function
    if isinstance(function, UserAggregate) and function.user is not None:
        own, base = type(function.user.function), ImperativeAggregateFunction
        lacks_retract = has_retractions and own.retract is base.retract
        # A pandas function sees all rows at once. Other functions may lack what a window needs; Flink rejects those,
        # here the rows are kept until the window ends.
        if function.user.is_pandas or own.merge is base.merge or lacks_retract:
            return GatheredRows(call)
    return create_kernel(call, has_retractions)


class GatheredRows(AggregateKernel):
    """Fields: the arguments of all rows, as lists."""

    dtypes = (object,)
    initial = (list,)

    def __init__(self, call: AggregateCall) -> None:
        assert isinstance(call.function, UserAggregate) and call.function.user is not None
        self._user = call.function.user
        self._types = call.types
        self._result = call.result
        self._body = None if self._user.is_pandas else call.body
        self._convert = from_user_value(call.result)

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        for _ in self._changed(before, rows):
            pass
        return before

    def running(self, before: Fields, rows: AggregateRows) -> tuple[Fields, pa.Array]:
        values = [self._value(gathered) if is_added else None for gathered, is_added in self._changed(before, rows)]
        return before, from_values(values, self._result)

    def merge(self, left: Fields, right: Fields) -> Fields:
        for own, others in zip(left[0], right[0]):
            own.extend(others)
        return left

    def values(self, fields: Fields) -> pa.Array:
        return from_values(list(map(self._value, fields[0])), self._result)

    def _changed(self, before: Fields, rows: AggregateRows) -> Any:
        """Row by row, the list that it is added to or taken from, and which of both."""
        columns = [to_values(column.array, each) for column, each in zip(rows.arguments, self._types)]
        arguments = list(zip(*columns)) if columns else [()] * len(rows)
        signs = np.ones(len(rows), np.int8) if rows.signs is None else rows.signs
        mask = np.ones(len(rows), bool) if rows.mask is None else rows.mask
        indexes = rows.segments.segment_of_row
        for index, values, sign, counts in zip(indexes.tolist(), arguments, signs.tolist(), mask.tolist()):
            gathered = before[0][index]
            if counts and sign > 0:
                gathered.append(values)
            # A search through all rows of the window for each row that is taken back.
            elif counts and values in gathered:
                gathered.remove(values)
            yield gathered, sign > 0

    def _value(self, gathered: list[Any]) -> Any:
        if self._body is None:
            return self._of_pandas(gathered)
        accumulator = self._body.create()
        for each in gathered:
            self._body.accumulate(accumulator, *each)
        return self._body.value(accumulator)

    def _of_pandas(self, gathered: list[Any]) -> Any:
        if not gathered:
            return None
        function = self._user.function
        columns = zip(*gathered)
        arrays = (from_values(list(values), each) for values, each in zip(columns, self._types))
        series = [pandas_argument(each, self._user.takes_row) for each in arrays]
        accumulator = function.create_accumulator()
        function.accumulate(accumulator, *series)
        value = function.get_value(accumulator)
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and math.isnan(value):
            # As columns of pandas become those of a table: NaN is NULL.
            return None
        return value if self._convert is None else self._convert(value)
