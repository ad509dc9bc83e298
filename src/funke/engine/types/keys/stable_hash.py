"""A hash of keys that is the same in every process, on every machine and for equal keys."""

from __future__ import annotations

import dataclasses
import datetime
import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from zlib import crc32

from funke.engine.types.row import Row
from funke.engine.types.time import Duration, Instant, Time

__all__ = ["stable_hash", "stable_hashes"]

_MASK = 0x7FFFFFFF
_NONE_HASH = 0x5EED


def _of_number(key: Any) -> int:
    # hash() of numbers does not depend on the process, and is the same for 1, 1.0, True and Decimal(1). The
    # multiplication spreads consecutive integers over all bits.
    mixed = (hash(key) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return (mixed ^ (mixed >> 29)) >> 16 & _MASK


def _of_float(key: float) -> int:
    # Since Python 3.10 the hash of a NaN depends on its address.
    return _of_number(key) if not math.isnan(key) else 0x7FF8


def _of_str(key: str) -> int:
    try:
        return crc32(key.encode()) & _MASK
    except UnicodeEncodeError:
        return crc32(key.encode("utf-8", "surrogatepass")) & _MASK


def _of_bytes(key: bytes) -> int:
    return (crc32(key) ^ 0x2545F491) & _MASK


def _of_sequence(keys: Iterable[Any]) -> int:
    result = 0x345678
    for key in keys:
        result = (result * 1000003 ^ stable_hash(key)) & 0xFFFFFFFFFFFF
    return (result ^ result >> 24) & _MASK


def _of_set(keys: Iterable[Any]) -> int:
    return _of_sequence(sorted(map(stable_hash, keys)))


def _of_mapping(mapping: dict[Any, Any]) -> int:
    return _of_set(mapping.items())


def _of_row(row: Row) -> int:
    # Rows are equal by name, in whatever order the names stand.
    fields = row.__dict__.get("_fields")
    if fields is None:
        return _of_sequence(row._values)
    named = sorted(zip(fields, row._values, strict=False), key=lambda field: field[0])
    return _of_sequence(value for _, value in named)


def _of_datetime(key: datetime.datetime) -> int:
    # Equal timestamps in different zones are equal keys.
    if key.utcoffset() is not None:
        key = key.astimezone(datetime.UTC).replace(tzinfo=None)
    return _of_sequence((key.toordinal(), key.hour, key.minute, key.second, key.microsecond))


def _of_time(key: datetime.time) -> int:
    offset = key.utcoffset() or datetime.timedelta()
    of_day = datetime.timedelta(hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond)
    return _of_number((of_day - offset) // datetime.timedelta(microseconds=1))


_BY_CLASS: dict[type, Callable[[Any], int]] = {
    str: _of_str,
    int: _of_number,
    bool: _of_number,
    float: _of_float,
    complex: _of_number,
    Decimal: lambda key: 0x7FF8 if key.is_nan() else _of_number(key),
    Fraction: _of_number,
    type(None): lambda _: _NONE_HASH,
    bytes: _of_bytes,
    bytearray: _of_bytes,
    tuple: _of_sequence,
    list: _of_sequence,
    frozenset: _of_set,
    set: _of_set,
    dict: _of_mapping,
    Row: _of_row,
    datetime.date: lambda key: _of_number(key.toordinal()),
    datetime.datetime: _of_datetime,
    datetime.time: _of_time,
    datetime.timedelta: lambda key: _of_sequence((key.days, key.seconds, key.microseconds)),
    Instant: lambda key: _of_sequence((key.seconds, key.nanos)),
    Time: lambda key: _of_number(key.to_milliseconds()),
    Duration: lambda key: _of_number(key.to_nanos()),
}


def stable_hash(key: Any) -> int:
    """Return a number from 0 to 2**31 - 1 that depends on the value of ``key`` alone."""
    by_class = _BY_CLASS.get(type(key))
    return by_class(key) if by_class is not None else _of_other(key)


def _of_other(key: Any) -> int:
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        return _of_sequence(getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
    if hasattr(key, "dtype") and hasattr(key, "item"):
        return stable_hash(key.item() if getattr(key, "ndim", 0) == 0 else key.tolist())
    # Instances of subclasses (named tuples, IntEnum members, …) equal the plain value, so they must hash like it.
    for kind in _SUBCLASSED:
        if isinstance(key, kind):
            return _BY_CLASS[kind](key)
    if isinstance(key, Enum):
        return _of_str(f"{type(key).__qualname__}.{key.name}")
    return _of_bytes(pickle.dumps(key, protocol=4))


_SUBCLASSED = (str, int, float, tuple, bytes, frozenset, list, dict, Row, datetime.datetime, datetime.date, Decimal)


def stable_hashes(keys: list[Any]) -> Iterator[int]:
    """Return the hash of every key; the dispatch by class happens once for keys of one class."""
    classes = set(map(type, keys))
    hash_of = _BY_CLASS.get(classes.pop(), stable_hash) if len(classes) == 1 else stable_hash
    return map(hash_of, keys)
