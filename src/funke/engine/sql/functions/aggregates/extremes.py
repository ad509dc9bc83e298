"""MIN and MAX."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.kernels import aggregate_rows
from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields, RunningKernel
from funke.engine.sql.functions.aggregates.number_columns import decimal_column, number_column
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.type_rules import like_argument
from funke.engine.types.logical import (
    APPROXIMATE,
    CHARACTER,
    DATETIME,
    INTEGRAL,
    INTERVAL,
    BooleanType,
    DataType,
    DecimalType,
    to_column_type,
)

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array
    from funke.engine.types.logical import SqlValue

__all__ = ["MAX", "MIN", "ExtremeBody"]

# So many values are searched sooner than they are kept in order.
_FEW_VALUES = 32
_NAN = float("nan")


class ExtremeBody(AggregateBody):
    """The least or greatest value; of values that are neither less nor greater (NaN) the first one."""

    is_flat = True

    def __init__(self, is_max: bool) -> None:
        self.is_max = is_max

    def create(self) -> list[SqlValue]:
        return [None]

    def accumulate(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        (value,) = arguments
        if value is None:
            return
        extreme = accumulator[0]
        if extreme is None or (value > extreme if self.is_max else value < extreme):
            accumulator[0] = value

    def retract(self, accumulator: list[SqlValue], *arguments: SqlValue) -> None:
        raise NotImplementedError("retractable values are counted, see CountedExtremeBody")

    def merge(self, accumulator: list[SqlValue], other: list[SqlValue]) -> None:
        self.accumulate(accumulator, other[0])

    def value(self, accumulator: list[SqlValue]) -> SqlValue:
        return accumulator[0]


def _is_nan(value: SqlValue) -> bool:
    return type(value) is float and isnan(value)


class _Counts(dict[Any, int]):
    """How often each value is there; state has it as a plain dict."""

    __slots__ = ("ordered",)

    def __init__(self, counts: Iterable[tuple[Any, int]] = ()) -> None:
        super().__init__(counts)
        # The values with a positive count, in order; None while nobody needs them.
        self.ordered: list[Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class _CountedExtremeBody(AggregateBody):
    """Counts every value, since each may be retracted.

    MAX over the sums of 30,000 users: each update retracts a value and brings another one. A search through all values
    for each result would take minutes, which Flink avoids unless it is the extreme that goes. Sorted values make both
    cases a binary search, and a shift of half of the list.
    """

    def __init__(self, is_max: bool) -> None:
        self._is_max = is_max

    def create(self) -> _Counts:
        return _Counts()

    def restored(self, accumulator: dict[Any, int]) -> _Counts:
        if type(accumulator) is _Counts:
            return accumulator
        return _Counts((_NAN if _is_nan(value) else value, count) for value, count in accumulator.items())

    def accumulate(self, accumulator: _Counts, *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], 1)

    def retract(self, accumulator: _Counts, *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], -1)

    def merge(self, accumulator: _Counts, other: _Counts) -> None:
        for value, count in other.items():
            self._add(accumulator, value, count)

    def value(self, accumulator: _Counts) -> SqlValue:
        if len(accumulator) < _FEW_VALUES or _NAN in accumulator:
            present = (value for value, count in accumulator.items() if count > 0)
            return max(present, default=None) if self._is_max else min(present, default=None)
        if accumulator.ordered is None:
            accumulator.ordered = sorted(value for value, count in accumulator.items() if count > 0)
        ordered = accumulator.ordered
        return (ordered[-1] if self._is_max else ordered[0]) if ordered else None

    @staticmethod
    def _add(counts: _Counts, value: SqlValue, count: int) -> None:
        if value is None:
            return
        if _is_nan(value):
            # One object for all of them, which a dict finds again. It has no order.
            value, counts.ordered = _NAN, None
        before = counts.get(value, 0)
        total = before + count
        if total:
            counts[value] = total
        else:
            counts.pop(value, None)
        ordered = counts.ordered
        if ordered is not None and (before > 0) != (total > 0):
            index = bisect_left(ordered, value)
            if total > 0:
                ordered.insert(index, value)
            else:
                del ordered[index]


class _ExtremeKernel(RunningKernel):
    """Fields: the value as a number (decimals: unscaled) and whether there is one."""

    def __init__(self, call: AggregateCall, is_max: bool) -> None:
        self._result = call.result
        self._type = to_column_type(call.result)
        self._is_float = isinstance(call.result, APPROXIMATE)
        self._operation = np.maximum if is_max else np.minimum
        self._is_max = is_max
        dtype = _dtype_of(call.result)
        self.dtypes = (dtype, np.bool_)
        self.initial = (0, False)
        self._dtype = dtype
        if dtype is not object and np.dtype(dtype).itemsize == 8:
            operations = (aggregate_rows.LEAST, aggregate_rows.GREATEST)
            if self._is_float:
                operations = (aggregate_rows.LEAST_FLOAT, aggregate_rows.GREATEST_FLOAT)
            self.operation = operations[is_max]

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        numbers = rows.arguments[0].numbers
        if rows.counting is not None:
            has_value = rows.segments.running(np.logical_or, before[1], rows.counting)
            return self._with_gaps(before, rows, numbers), has_value
        has_value = np.ones(len(rows), np.bool_)
        if before[1].all() and not self._has_odd(numbers, before[0]):
            return rows.segments.running(self._operation, before[0], numbers), has_value
        return self._with_gaps(before, rows, numbers), has_value

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        numbers = rows.arguments[0].numbers
        if self._has_odd(numbers, before[0]):
            return super().accumulate(before, rows)
        start, values = self._filled_up(before, rows, numbers)
        extremes = rows.segments.total(self._operation, start, values)
        if rows.counting is None:
            return extremes, np.ones(len(extremes), np.bool_)
        return extremes, rows.segments.total(np.logical_or, before[1], rows.counting)

    def _with_gaps(self, before: Fields, rows: AggregateRows, numbers: Array) -> Array:
        if self._has_odd(numbers, before[0]):
            return self._one_by_one(before, rows, numbers)
        return rows.segments.running(self._operation, *self._filled_up(before, rows, numbers))

    def _filled_up(self, before: Fields, rows: AggregateRows, numbers: Array) -> tuple[Array, Array]:
        """The extremes before and the values, with the neutral number in place of missing ones."""
        extremes, has_value = before
        least = self._beyond(numbers, extremes)
        values = numbers if rows.counting is None else np.where(rows.counting, numbers, least)
        start = np.where(has_value, extremes, least)
        return start.astype(self._dtype), values.astype(self._dtype)

    def _beyond(self, numbers: Array, extremes: Array) -> Any:
        """The neutral number of the operation: any other one is preferred to it."""
        if self._is_float:
            return -np.inf if self._is_max else np.inf
        if self._dtype is object:
            everything = np.concatenate([numbers, extremes])
            return everything.min() if self._is_max else everything.max()
        limits = np.iinfo(self._dtype)
        return limits.min if self._is_max else limits.max

    def _has_odd(self, numbers: Array, extremes: Array) -> bool:
        """Whether there is NaN or -0.0, which < and > do not order, so that the first one stays; not so in numpy."""
        if not self._is_float:
            return False
        return any(bool((np.isnan(each) | ((each == 0) & np.signbit(each))).any()) for each in (numbers, extremes))

    def _one_by_one(self, before: Fields, rows: AggregateRows, numbers: Array) -> Array:
        result = np.empty(len(rows), self._dtype)
        counting = None if rows.counting is None else rows.counting.tolist()
        values = numbers.tolist()
        segments = rows.segments
        row = 0
        for extreme, has_value, length in zip(before[0].tolist(), before[1].tolist(), segments.lengths.tolist()):
            for _ in range(length):
                if counting is None or counting[row]:
                    value = values[row]
                    if not has_value or (value > extreme if self._is_max else value < extreme):
                        extreme, has_value = value, True
                result[row] = extreme
                row += 1
        return result

    def merge(self, left: Fields, right: Fields) -> Fields:
        better = left[0] < right[0] if self._is_max else left[0] > right[0]
        takes_right = right[1] & (~left[1] | better.astype(bool))
        chosen: Array = np.where(takes_right, right[0], left[0])
        return chosen.astype(self._dtype), left[1] | right[1]

    def values(self, fields: Fields) -> pa.Array:
        numbers, has_value = fields
        empty = ~has_value
        if isinstance(self._result, DecimalType):
            return decimal_column(numbers, empty, self._result)
        return number_column(numbers, empty if empty.any() else None, self._type)


class _TextExtremeKernel(RunningKernel):
    """Fields: the text, None if there is none. Texts are compared by their index in the sorted dictionary."""

    dtypes = (object,)
    initial = (None,)

    def __init__(self, call: AggregateCall, is_max: bool) -> None:
        self._type = to_column_type(call.result)
        self._operation = np.maximum if is_max else np.minimum
        self._is_max = is_max

    def running_fields(self, before: Fields, rows: AggregateRows) -> Fields:
        strings, ranks = self._ranks([pa.array(before[0], self._type), rows.arguments[0].array])
        first, numbers = ranks[: len(before[0])], ranks[len(before[0]) :]
        if rows.mask is not None:
            numbers = np.where(rows.mask, numbers, self._missing(strings))
        return (strings[rows.segments.running(self._operation, first, numbers)],)

    def merge(self, left: Fields, right: Fields) -> Fields:
        strings, ranks = self._ranks([pa.array(left[0], self._type), pa.array(right[0], self._type)])
        return (strings[self._operation(ranks[: len(left[0])], ranks[len(left[0]) :])],)

    def values(self, fields: Fields) -> pa.Array:
        return pa.array(fields[0], self._type)

    def _missing(self, strings: Array) -> int:
        """The rank of NULL, which every text is preferred to."""
        return 0 if self._is_max else len(strings) - 1

    def _ranks(self, columns: list[pa.Array]) -> tuple[Array, Array]:
        """The distinct texts in order, None among them, and the index of each text of the columns in them."""
        encoded = pa.concat_arrays(columns).dictionary_encode()
        # By bytes of UTF-8, as Flink compares strings; that is the order of code points, which the body has.
        order = np.asarray(pc.sort_indices(encoded.dictionary))
        first = 1 if self._is_max else 0
        ranks: Array = np.empty(len(order) + 1, np.int64)
        ranks[order] = np.arange(len(order)) + first
        strings: Array = np.empty(len(order) + 1, object)
        strings[first : first + len(order)] = encoded.dictionary.take(pa.array(order)).to_pylist()
        ranks[-1] = self._missing(strings)
        return strings, ranks[np.asarray(encoded.indices.fill_null(len(order)))]


def _dtype_of(data_type: DataType) -> Any:
    if isinstance(data_type, DecimalType):
        return object
    if isinstance(data_type, BooleanType):
        return np.int8
    stored = number_column(np.zeros(0), None, to_column_type(data_type)).type
    return (
        {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[stored.bit_width // 8]
        if not isinstance(data_type, APPROXIMATE)
        else stored.to_pandas_dtype()
    )


def _kernel(call: AggregateCall, is_max: bool) -> AggregateKernel | None:
    if call.has_retractions:
        return None
    if isinstance(call.types[0], CHARACTER):
        return _TextExtremeKernel(call, is_max)
    if isinstance(call.types[0], (*INTEGRAL, *APPROXIMATE, DecimalType, BooleanType, *DATETIME, *INTERVAL)):
        return _ExtremeKernel(call, is_max)
    return None


def _body(call: AggregateCall, is_max: bool) -> AggregateBody:
    return _CountedExtremeBody(is_max) if call.has_retractions else ExtremeBody(is_max)


_FORMS = "number/text/boolean/datetime/interval"
MIN = AggregateFunction(
    ("min",),
    _FORMS,
    like_argument(),
    lambda call: _body(call, is_max=False),
    lambda call: _kernel(call, is_max=False),
    ignores_repeats=True,
    purpose="The least value.",
)
MAX = AggregateFunction(
    ("max",),
    _FORMS,
    like_argument(),
    lambda call: _body(call, is_max=True),
    lambda call: _kernel(call, is_max=True),
    ignores_repeats=True,
    purpose="The greatest value.",
)
