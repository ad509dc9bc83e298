"""Aggregates that return bitmaps, and those that return the cardinality of these."""

from __future__ import annotations

import operator
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from funke.engine.sql.functions.aggregates.aggregate import AggregateBody, AggregateCall, AggregateFunction
from funke.engine.sql.functions.aggregates.body_kernel import BodyKernel
from funke.engine.sql.functions.aggregates.kernel import AggregateKernel, Fields
from funke.engine.sql.functions.aggregates.rows import AggregateRows
from funke.engine.sql.functions.function import TypeRule
from funke.engine.types.bitmap_bytes import opened, stored
from funke.engine.types.logical import BigIntType, BitmapType, DataType

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["BITMAP_AGGREGATES"]

Result = Callable[[BitMap], Any]
Combine = Callable[[BitMap, BitMap], BitMap]


class _BuildBody(AggregateBody):
    """The set of all numbers."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def create(self) -> BitMap:
        return BitMap()

    def accumulate(self, accumulator: BitMap, *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            # Bitmaps have numbers without a sign: -1 is 4294967295.
            accumulator.add(arguments[0] & 0xFFFFFFFF)

    def retract(self, accumulator: BitMap, *arguments: SqlValue) -> None:
        raise NotImplementedError("retractable numbers are counted, see _CountedBuildBody")

    def merge(self, accumulator: BitMap, other: BitMap) -> None:
        accumulator |= other

    def value(self, accumulator: BitMap) -> SqlValue:
        return self._result(accumulator) if accumulator else None


class _BuildKernel(BodyKernel):
    """Adds all numbers of a segment in one call of the library."""

    def accumulate(self, before: Fields, rows: AggregateRows) -> Fields:
        numbers = rows.arguments[0].numbers.astype(np.int32, copy=False)
        for bitmap, start, end in zip(before[0], rows.segments.starts.tolist(), (rows.segments.ends + 1).tolist()):
            counted = numbers[start:end]
            if rows.counting is not None:
                counted = counted[rows.counting[start:end]]
            # The library reads Python's arrays five times as fast as those of numpy: 40 ns for a number.
            bitmap |= BitMap(array("I", counted.tobytes()))
        return before


class _CombinedBody(AggregateBody):
    """The combination of all bitmaps; a list, which is empty before the first one."""

    def __init__(self, combine: Combine, result: Result) -> None:
        self._combine = combine
        self._result = result

    def create(self) -> list[BitMap]:
        # Not an empty bitmap: AND with that would stay empty.
        return []

    def accumulate(self, accumulator: list[BitMap], *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            self._add(accumulator, opened(arguments[0]))

    def retract(self, accumulator: list[BitMap], *arguments: SqlValue) -> None:
        raise NotImplementedError("retractable bitmaps are counted, see _CountedBody")

    def merge(self, accumulator: list[BitMap], other: list[BitMap]) -> None:
        for each in other:
            self._add(accumulator, each.copy())

    def value(self, accumulator: list[BitMap]) -> SqlValue:
        return self._result(accumulator[0]) if accumulator else None

    def _add(self, accumulator: list[BitMap], bitmap: BitMap) -> None:
        if accumulator:
            self._combine(accumulator[0], bitmap)
        else:
            accumulator.append(bitmap)


class _CountedXorBody(AggregateBody):
    """The number of bitmaps, and the members of an odd number of them. XOR is its own retraction."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def create(self) -> list[Any]:
        return [0, BitMap()]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            self.merge(accumulator, [1, opened(arguments[0])])

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        if arguments[0] is not None:
            self.merge(accumulator, [-1, opened(arguments[0])])

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        accumulator[0] += other[0]
        accumulator[1] ^= other[1]

    def value(self, accumulator: list[Any]) -> SqlValue:
        return self._result(accumulator[1]) if accumulator[0] > 0 else None


class _CountedBody(AggregateBody):
    """The number of arguments, the count of each of their members, and the set of members with a count above 0."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def create(self) -> list[Any]:
        return [0, {}, BitMap()]

    def accumulate(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], 1)

    def retract(self, accumulator: list[Any], *arguments: SqlValue) -> None:
        self._add(accumulator, arguments[0], -1)

    def merge(self, accumulator: list[Any], other: list[Any]) -> None:
        accumulator[0] += other[0]
        for number, count in other[1].items():
            self._count(accumulator, number, count)

    def value(self, accumulator: list[Any]) -> SqlValue:
        bitmap = self.members(*accumulator)
        return None if bitmap is None else self._result(bitmap)

    def numbers(self, argument: SqlValue) -> Iterable[int]:
        return opened(argument)

    @abstractmethod
    def members(self, arguments: int, counts: dict[int, int], present: BitMap) -> BitMap | None:
        """The bitmap that is the result."""

    def _add(self, accumulator: list[Any], argument: SqlValue, count: int) -> None:
        if argument is not None:
            accumulator[0] += count
            for number in self.numbers(argument):
                self._count(accumulator, number, count)

    @staticmethod
    def _count(accumulator: list[Any], number: int, count: int) -> None:
        _, counts, present = accumulator
        total = counts.get(number, 0) + count
        # A retraction may come before its row: a count below 0 stays, and the row cancels it.
        if total:
            counts[number] = total
        else:
            del counts[number]
        if total > 0:
            present.add(number)
        else:
            present.discard(number)


class _CountedBuildBody(_CountedBody):
    def numbers(self, argument: int) -> Iterable[int]:
        return (argument & 0xFFFFFFFF,)

    def members(self, arguments: int, counts: dict[int, int], present: BitMap) -> BitMap | None:
        return present or None


class _CountedOrBody(_CountedBody):
    def members(self, arguments: int, counts: dict[int, int], present: BitMap) -> BitMap | None:
        return present if arguments > 0 else None


class _CountedAndBody(_CountedBody):
    def members(self, arguments: int, counts: dict[int, int], present: BitMap) -> BitMap | None:
        if arguments <= 0:
            return None
        return BitMap([number for number, count in counts.items() if count == arguments])


Body = Callable[[Result], AggregateBody]


def _pair(name: str, form: str, plain: Body, counted: Body, purpose: str) -> tuple[AggregateFunction, ...]:
    """An aggregate that returns a bitmap, and the one that returns its cardinality."""
    kernel_for = _build_kernel if plain is _BuildBody else None

    def function(name: str, data_type: DataType, result: Result, purpose: str) -> AggregateFunction:
        def body_for(call: AggregateCall) -> AggregateBody:
            return (counted if call.has_retractions else plain)(result)

        return AggregateFunction((name,), form, _type_of(data_type), body_for, kernel_for, purpose=purpose)

    return (
        function(f"bitmap_{name}_agg", BitmapType(), stored, purpose),
        function(
            f"bitmap_{name}_cardinality_agg", BigIntType(), len, f"How many numbers BITMAP_{name.upper()}_AGG has."
        ),
    )


def _type_of(data_type: DataType) -> TypeRule:
    return lambda arguments: None if isinstance(arguments[0].type, BigIntType) else data_type


def _build_kernel(call: AggregateCall) -> AggregateKernel | None:
    return None if call.has_retractions else _BuildKernel(call)


def _combined(combine: Combine) -> Body:
    return lambda result: _CombinedBody(combine, result)


BITMAP_AGGREGATES: tuple[AggregateFunction, ...] = (
    *_pair("build", "integer", _BuildBody, _CountedBuildBody, "The set of all numbers, which are of the type INT."),
    *_pair("and", "bitmap", _combined(operator.iand), _CountedAndBody, "The numbers that all bitmaps have."),
    *_pair("or", "bitmap", _combined(operator.ior), _CountedOrBody, "The numbers that any bitmap has."),
    *_pair(
        "xor",
        "bitmap",
        _combined(operator.ixor),
        _CountedXorBody,
        "The numbers that an odd number of bitmaps has.",
    ),
)
