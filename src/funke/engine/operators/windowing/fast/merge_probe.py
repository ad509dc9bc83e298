"""Finds out whether what a window combines can be shared between windows that overlap.

Sharing changes the order in which elements are combined: first within a pane, then the panes. That gives the same
result only if the function does not care about the order, and it must not change its arguments. Flink never asks this
of a reduce function, and of `merge` only for session windows, so many programs have a `merge` that was never meant to
be called. The code does not show that, so the function is tried on some of the first records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import isclose
from typing import Any

from funke.engine.operators.record_copy import are_plain, copies_of

__all__ = ["can_share_aggregate", "can_share_reduce", "sample_of_one_key"]

_LOOKED_AT = 4096
_SAMPLE = 6


def sample_of_one_key(keys: list[Any], values: list[Any]) -> list[Any] | None:
    """Some records of one key that are not all the same; None when there are too few."""
    (key, _), *_ = Counter(keys[:_LOOKED_AT]).most_common(1)
    sample = [value for each, value in zip(keys[:_LOOKED_AT], values) if each == key][:_SAMPLE]
    if len(sample) < 3 or all(_is_alike(value, sample[0]) for value in sample):
        return None
    return sample


def can_share_reduce(reduce: Callable[[Any, Any], Any], sample: list[Any]) -> bool:
    """Whether the order of reducing does not matter, and reduced values cannot be changed in place."""
    if not are_plain(sample):
        return False
    first, second, third = sample[0], sample[1], sample[-1]
    try:
        left = reduce(reduce(first, second), third)
        right = reduce(first, reduce(second, third))
        swapped = [reduce(second, first), reduce(third, first), reduce(third, second)]
        straight = [reduce(first, second), reduce(first, third), reduce(second, third)]
    except Exception:
        return False
    return are_plain([left, right, *swapped]) and _is_alike(left, right) and all(map(_is_alike, swapped, straight))


def can_share_aggregate(function: Any, sample: list[Any]) -> bool:
    """Whether accumulators of parts merge to that of the whole, in any order, and cannot be changed in place."""

    def accumulate(values: list[Any]) -> Any:
        accumulator = function.create_accumulator()
        for value in copies_of(values):
            accumulator = function.add(value, accumulator)
        return accumulator

    middle = len(sample) // 2
    try:
        whole, backwards = accumulate(sample), accumulate(sample[::-1])
        head, tail = accumulate(sample[:middle]), accumulate(sample[middle:])
        merged = [backwards, function.merge(head, tail), function.merge(tail, head)]
    except Exception:
        return False
    return are_plain([whole, head, tail, *merged]) and all(_is_alike(whole, each) for each in merged)


def _is_alike(left: Any, right: Any) -> bool:
    """Equal, but for the last digits of floats, which depend on the order of additions."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(_is_alike, left, right))
    return bool(left == right)
