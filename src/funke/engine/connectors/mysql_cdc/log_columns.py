"""Values as the binary log stores them, as columns in the types that are natural for them: `fitted_columns.py`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.mysql_cdc import stored_columns as stored
from funke.engine.connectors.mysql_cdc.charsets import decoder_of
from funke.engine.connectors.mysql_cdc.json_text import json_text
from funke.engine.connectors.mysql_cdc.row_block import Cells, RowBlock
from funke.engine.connectors.mysql_cdc.settings import MySqlColumn
from funke.engine.connectors.mysql_cdc.stored_columns import DIGIT_BYTES, StoredColumn
from funke.engine.errors import SourceError

__all__ = ["logged_column"]

Read = Callable[[RowBlock, Cells, MySqlColumn, StoredColumn], Any]
_DAY_US = 86_400_000_000
_EXACT = Context(prec=100)
_MOST_IN_64_BITS, _MOST_IN_128_BITS = 18, 38


def logged_column(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    """The values of a column."""
    read = _READERS.get(store.type)
    if read is None:
        raise SourceError(f"the column {column.name!r} has an unsupported form in the binary log: {column.kind}")
    return read(block, cells, column, store)


def _array(values: Any, cells: Cells, is_null: Any = None) -> Any:
    mask = cells.is_null if is_null is None else cells.is_null | is_null
    return pa.array(values, mask=mask if mask.any() else None)


def _integers(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    numbers = block.unsigned(cells, store.width)
    if column.is_unsigned:
        return _array(numbers, cells)
    shift = np.int64(64 - 8 * store.width)
    return _array(numbers.view(np.int64) << shift >> shift, cells)


def _floats(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    whole, kind = (np.uint32, np.float32) if store.width == 4 else (np.uint64, np.float64)
    return _array(block.unsigned(cells, store.width).astype(whole).view(kind), cells)


def _years(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    numbers = block.unsigned(cells, 1).astype(np.int64)
    return _array(np.where(numbers == 0, 0, numbers + 1900), cells)


def _bits(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    return _array(block.unsigned(cells, store.width, is_big=True), cells)


def _decimals(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    """Groups of nine digits in four bytes each, the highest first; the bytes of negative numbers are inverted."""
    offsets = Cells(np.where(cells.is_null, 0, cells.offsets), cells.lengths)
    digits = block.matrix(offsets, store.width).astype(np.uint8)
    is_negative = digits[:, 0] < 0x80
    digits[:, 0] ^= 0x80
    digits[is_negative] ^= 0xFF
    precision, scale = store.size, store.digits
    whole = precision - scale
    groups = [whole % 9, *[9] * (whole // 9), *[9] * (scale // 9), scale % 9]
    number: Any = np.zeros(len(digits), np.int64 if precision <= _MOST_IN_64_BITS else object)
    at = 0
    for group in groups:
        value: Any = np.zeros(len(digits), np.int64)
        for byte in range(at, at + DIGIT_BYTES[group]):
            value = value << 8 | digits[:, byte]
        at += DIGIT_BYTES[group]
        number = number * 10**group + value.astype(number.dtype)
    return _decimal_array(np.where(is_negative, -number, number), cells, precision, scale)


def _decimal_array(numbers: Any, cells: Cells, precision: int, scale: int) -> Any:
    if precision > _MOST_IN_128_BITS:
        strings = [str(Decimal(number).scaleb(-scale, _EXACT)) for number in numbers.tolist()]
        return pa.array(strings, pa.string(), mask=cells.is_null)
    words: Any = np.empty((len(numbers), 2), np.uint64)
    if numbers.dtype == object:
        words[:, 0] = [number & 0xFFFF_FFFF_FFFF_FFFF for number in numbers]
        words[:, 1] = [number >> 64 & 0xFFFF_FFFF_FFFF_FFFF for number in numbers]
    else:
        words[:, 0], words[:, 1] = numbers.view(np.uint64), (numbers >> 63).view(np.uint64)
    validity = None
    if cells.is_null.any():
        validity = pa.py_buffer(np.packbits(~cells.is_null, bitorder="little"))
    kind = pa.decimal128(precision, scale)
    return pa.Array.from_buffers(kind, len(numbers), [validity, pa.py_buffer(words)])


def _dates(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    packed = block.unsigned(cells, 3).astype(np.int64)
    days, is_none = _days(packed >> 9, packed >> 5 & 15, packed & 31)
    return _array(days, cells, is_none)


def _days(years: Any, months: Any, days: Any) -> tuple[Any, Any]:
    """Dates, and which of them are in no calendar: MySQL stores zeros and, if it is asked to, 31st of February."""
    first = ((years - 1970) * 12 + months - 1).astype("M8[M]")
    dates = first.astype("M8[D]") + (days - 1)
    return dates, (years == 0) | (months == 0) | (days == 0) | (dates.astype("M8[M]") != first)


def _fraction_us(block: RowBlock, cells: Cells, store: StoredColumn, whole: int) -> Any:
    size = store.width - whole
    if size == 0:
        return 0
    behind = Cells(cells.offsets + whole, cells.lengths)
    return block.unsigned(behind, size, is_big=True).astype(np.int64) * 10 ** (6 - 2 * size)


def _datetimes(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    packed = block.unsigned(cells, 5, is_big=True).astype(np.int64) - (1 << 39)
    date, clock = packed >> 17, packed & 0x1FFFF
    days, is_none = _days((date >> 5) // 13, (date >> 5) % 13, date & 31)
    seconds = (clock >> 12) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
    micros = days.astype(np.int64) * _DAY_US + seconds * 1_000_000 + _fraction_us(block, cells, store, 5)
    return _array(micros.astype("M8[us]"), cells, is_none)


def _timestamps(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    """Timestamps of UTC; zero stands for no date."""
    seconds = block.unsigned(cells, 4, is_big=True).astype(np.int64)
    micros = seconds * 1_000_000 + _fraction_us(block, cells, store, 4)
    return _array(micros.astype("M8[us]"), cells, micros == 0)


def _times(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    """Microseconds, which may be less than none or more than a day has."""
    bits = 8 * (store.width - 3)
    packed = block.unsigned(cells, store.width, is_big=True).astype(np.int64) - (1 << (23 + bits))
    clock, fraction = np.abs(packed) >> bits, np.abs(packed) & ((1 << bits) - 1)
    seconds = (clock >> 12 & 0x3FF) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
    micros = seconds * 1_000_000 + (fraction * 10 ** (6 - bits // 4) if bits else 0)
    return _array(np.where(packed < 0, -micros, micros), cells)


def _enumerations(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    """Zero stands for a value that was none of them, which the server shows as an empty text."""
    indexes = block.unsigned(cells, store.width).astype(np.int64)
    names = pa.array(["", *column.members], pa.string())
    _check_members(indexes[~cells.is_null], len(names) - 1, column)
    return names.take(_array(indexes, cells))


def _sets(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    bits = block.unsigned(cells, store.width)
    masks, offsets = np.unique(np.where(cells.is_null, 0, bits), return_inverse=True)
    _check_members([int(mask).bit_length() for mask in masks], len(column.members), column)
    strings = [
        ",".join(member for bit, member in enumerate(column.members) if mask >> bit & 1) for mask in masks.tolist()
    ]
    return pa.array(strings, pa.string()).take(_array(offsets, cells))


def _check_members(numbers: Any, most: int, column: MySqlColumn) -> None:
    if len(numbers) and max(numbers) > most:
        raise SourceError(
            f"a value of the column {column.name!r} is none of its {most} members, which have changed: start the job "
            "anew without its state"
        )


def _strings(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    strings = block.binaries(cells)
    if column.charset is None:
        if store.type != stored.STRING:
            return strings
        # The log leaves out the zeros at the end of values of fixed length.
        values = (None if value is None else value.ljust(store.size, b"\0") for value in strings.to_pylist())
        return pa.array(values, pa.binary())
    decode = decoder_of(column.charset)
    if decode is None:
        return strings.cast(pa.string())
    return pa.array([None if value is None else decode(value) for value in strings.to_pylist()], pa.string())


def _json(block: RowBlock, cells: Cells, column: MySqlColumn, store: StoredColumn) -> Any:
    values = block.binaries(cells).to_pylist()
    return pa.array([None if value is None else json_text(value) for value in values], pa.string())


_READERS: dict[int, Read] = {
    **dict.fromkeys((stored.TINY, stored.SHORT, stored.MEDIUM, stored.INT, stored.BIGINT), _integers),
    **dict.fromkeys((stored.FLOAT, stored.DOUBLE), _floats),
    **dict.fromkeys((stored.STRING, stored.VARCHAR, stored.VAR_STRING, stored.BLOB), _strings),
    stored.YEAR: _years,
    stored.BIT: _bits,
    stored.DECIMAL: _decimals,
    stored.DATE: _dates,
    stored.DATETIME: _datetimes,
    stored.TIMESTAMP: _timestamps,
    stored.TIME: _times,
    stored.ENUM: _enumerations,
    stored.SET: _sets,
    stored.JSON: _json,
}
