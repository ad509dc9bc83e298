"""Makes columns of random values and of sequences."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.types.logical import DataType, to_column_type

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = [
    "ArrayMaker",
    "BooleanMaker",
    "BytesMaker",
    "DecimalMaker",
    "FloatMaker",
    "IntegerMaker",
    "MapMaker",
    "NowMaker",
    "RowMaker",
    "SequenceMaker",
    "TextMaker",
    "ValueMaker",
]

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_MILLISECONDS_OF_DAY = 86_400_000
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class ValueMaker(ABC):
    """Makes values of one type; is pickled into slots."""

    type: DataType
    null_rate: float = 0.0

    def column(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        """Return the values of rows with these numbers."""
        values = self._make(indexes, chance)
        if self.null_rate <= 0:
            return values
        missing = chance.random(len(indexes)) < self.null_rate
        return pa.compute.if_else(pa.array(missing), pa.scalar(None, values.type), values)

    @property
    def arrow_type(self) -> pa.DataType:
        return to_column_type(self.type)

    @abstractmethod
    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array: ...


@dataclass(frozen=True)
class BooleanMaker(ValueMaker):
    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        return pa.array(chance.integers(0, 2, len(indexes)).astype(bool))


@dataclass(frozen=True)
class IntegerMaker(ValueMaker):
    """Whole numbers between two bounds, both of which occur; intervals are whole numbers too."""

    least: int = 0
    most: int = 0

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        numbers = chance.integers(self.least, self.most, len(indexes), np.int64, endpoint=True)
        return pa.array(numbers).cast(self.arrow_type)


@dataclass(frozen=True)
class FloatMaker(ValueMaker):
    least: float = 0.0
    most: float = 1.0

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        # The difference of the bounds may be more than a number can be.
        part = chance.random(len(indexes))
        return pa.array(self.least * (1 - part) + self.most * part).cast(self.arrow_type, safe=False)


@dataclass(frozen=True)
class DecimalMaker(ValueMaker):
    """Between two bounds, counted in the smallest unit of the type."""

    least: int = 0
    most: int = 0

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        from decimal import Decimal

        scale: int = self.type.scale  # type: ignore[attr-defined]
        span = self.most - self.least
        units = [self.least + int(part * span) for part in chance.random(len(indexes)).tolist()]
        return pa.array([Decimal(unit).scaleb(-scale) for unit in units], self.arrow_type)


@dataclass(frozen=True)
class TextMaker(ValueMaker):
    """Hexadecimal digits."""

    length: int = 100
    is_varying: bool = False

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        lengths = _lengths(self, len(indexes), chance)
        digits = _HEX[chance.integers(0, 16, int(lengths.sum()), np.uint8)]
        return _binary(lengths, digits, pa.utf8())


@dataclass(frozen=True)
class BytesMaker(ValueMaker):
    length: int = 100
    is_varying: bool = False

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        lengths = _lengths(self, len(indexes), chance)
        content = chance.integers(0, 256, int(lengths.sum()), np.uint8)
        return _binary(lengths, content, pa.binary()).cast(self.arrow_type)


def _lengths(maker: TextMaker | BytesMaker, count: int, chance: np.random.Generator) -> Array:
    if maker.is_varying:
        return chance.integers(1, maker.length, count, np.int64, endpoint=True)
    return np.full(count, maker.length, np.int64)


def _binary(lengths: Array, content: Array, arrow_type: pa.DataType) -> pa.Array:
    # Arrow's layout of strings: no Python object is made for a value.
    offsets: Array = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(content))]
    return pa.Array.from_buffers(arrow_type, len(lengths), buffers)


@dataclass(frozen=True)
class NowMaker(ValueMaker):
    """The date or time of the clock, or a timestamp up to so long before."""

    max_past_ms: int = 0
    # The offset of the machine's zone, for types without a zone.
    offset_ms: int = 0

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        now_ms = time.time_ns() // 1_000_000 + self.offset_ms
        past = chance.integers(0, self.max_past_ms, len(indexes), endpoint=True) if self.max_past_ms else 0
        timestamps: Array = np.full(len(indexes), now_ms, np.int64) - past
        arrow_type = self.arrow_type
        if pa.types.is_date(arrow_type):
            return pa.array((timestamps // _MILLISECONDS_OF_DAY).astype(np.int32)).cast(arrow_type)
        if pa.types.is_time(arrow_type):
            timestamps = timestamps % _MILLISECONDS_OF_DAY
        ticks: Array = timestamps * _PER_SECOND[arrow_type.unit] // 1000
        return pa.array(ticks.astype(f"int{arrow_type.bit_width}")).cast(arrow_type)


@dataclass(frozen=True)
class SequenceMaker(ValueMaker):
    """Counts from `start` by the number of the row."""

    start: int = 0

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        numbers = pa.array(indexes + self.start)
        if pa.types.is_binary(self.arrow_type):
            return numbers.cast(pa.utf8()).cast(self.arrow_type)
        if pa.types.is_decimal(self.arrow_type):
            return (
                numbers.cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, self.arrow_type.scale)).cast(self.arrow_type)
            )
        return numbers.cast(self.arrow_type)


@dataclass(frozen=True)
class ArrayMaker(ValueMaker):
    element: ValueMaker | None = None
    length: int = 3

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        assert self.element is not None
        offsets: Array = np.arange(len(indexes) + 1, dtype=np.int32) * self.length
        elements = self.element.column(np.arange(len(indexes) * self.length), chance)
        return pa.ListArray.from_arrays(pa.array(offsets), elements).cast(self.arrow_type)


@dataclass(frozen=True)
class MapMaker(ValueMaker):
    """Maps, and multisets, whose values are counts."""

    key: ValueMaker | None = None
    value: ValueMaker | None = None
    length: int = 3

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        assert self.key is not None
        assert self.value is not None
        entries = np.arange(len(indexes) * self.length)
        keys, values = self.key.column(entries, chance), self.value.column(entries, chance)
        pairs = list(zip(keys.to_pylist(), values.to_pylist()))
        starts = range(0, len(pairs), self.length) if self.length else []
        # A key that is drawn twice occurs once.
        maps = [list(dict(pairs[start : start + self.length]).items()) for start in starts]
        return pa.array(maps or [[]] * len(indexes), self.arrow_type)


@dataclass(frozen=True)
class RowMaker(ValueMaker):
    fields: tuple[ValueMaker, ...] = ()

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        columns = [each.column(indexes, chance) for each in self.fields]
        return pa.StructArray.from_arrays(columns, fields=list(self.arrow_type))
