"""Texts of a column as numbers, dates and times, where Arrow reads all of them as CAST reads each.

Arrow knows fewer forms (no spaces, no missing zeros): where one text is of another form, each is read by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.types.logical import APPROXIMATE, INTEGRAL, DateType, DecimalType, TimestampType, to_column_type

__all__ = ["text_cast", "to_timestamps"]

# Gives None where the texts of a column have to be read one by one.
TextCast = Callable[[Any], Any]
_FIRST_TIMESTAMP = pa.scalar(-62_135_596_800_000_000, pa.timestamp("us"))
# A date and an hour, without minutes, is not a date and time.
_LENGTH_TO_HOUR = 13


def text_cast(target: Any) -> TextCast | None:
    """Return the cast of a column of texts; None for types without one."""
    arrow_type = to_column_type(target)
    if isinstance(target, INTEGRAL):
        # Arrow knows hexadecimal numbers.
        return lambda strings: _cast_without(strings, "xX", arrow_type)
    if isinstance(target, APPROXIMATE):
        # Arrow writes NaN and infinity in more ways.
        return lambda strings: _narrowed(_cast_without(strings, "nN", pa.float64()), arrow_type)
    if isinstance(target, DecimalType):
        return lambda strings: _cast_without(strings, "", arrow_type)
    if isinstance(target, DateType):
        return lambda strings: _since_first(_cast_without(strings, "", arrow_type))
    if isinstance(target, TimestampType):
        return lambda strings: to_timestamps(strings, target)
    return None


def to_timestamps(strings: pa.Array, target: TimestampType) -> pa.Array | None:
    """Return the date and time of each text, cut to the digits of a type; None if they have to be read one by one."""
    if target.precision not in (0, 3, 6) or pc.any(pc.equal(pc.binary_length(strings), _LENGTH_TO_HOUR)).as_py():
        return None
    timestamps = _since_first(_cast_without(strings, "T", pa.timestamp("us")))
    if timestamps is None or target.precision == 6:
        return timestamps
    unit = "second" if target.precision == 0 else "millisecond"
    return pc.cast(pc.floor_temporal(timestamps, unit=unit), to_column_type(target), safe=False)


def _cast_without(strings: pa.Array, letters: str, arrow_type: pa.DataType) -> pa.Array | None:
    if any(pc.any(pc.match_substring(strings, letter)).as_py() for letter in letters):
        return None
    try:
        return pc.cast(strings, arrow_type)
    except pa.ArrowInvalid:
        return None


def _narrowed(numbers: pa.Array | None, arrow_type: pa.DataType) -> pa.Array | None:
    return None if numbers is None else pc.cast(numbers, arrow_type, safe=False)


def _since_first(timestamps: pa.Array | None) -> pa.Array | None:
    """The timestamps, unless there is one before the year 1, which Python does not have."""
    if timestamps is None or pc.any(pc.less(pc.cast(timestamps, _FIRST_TIMESTAMP.type), _FIRST_TIMESTAMP)).as_py():
        return None
    return timestamps
