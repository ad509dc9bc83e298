"""The order in which Java's HashMap goes through texts: Flink shows maps in it."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["in_java_order", "java_hash"]

_SMALLEST_TABLE = 16


def java_hash(text: str) -> int:
    """Return what `String.hashCode` returns, as an unsigned number.

    >>> java_hash("connector")
    3715757133
    """
    units = text.encode("utf-16-be")
    code = 0
    for high, low in zip(units[::2], units[1::2]):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def in_java_order(keys: Iterable[str]) -> list[str]:
    """Return the keys as a HashMap gives them that they were put into one after the other.

    >>> in_java_order(["connector", "a", "format", "csv.a"])
    ['csv.a', 'a', 'connector', 'format']
    """
    ordered = list(keys)
    size = _SMALLEST_TABLE
    # A table grows when more than three of four buckets are taken.
    while len(ordered) * 4 > size * 3:
        size *= 2
    return sorted(ordered, key=lambda key: _spread(java_hash(key)) % size)


def _spread(number: int) -> int:
    return number ^ number >> 16
