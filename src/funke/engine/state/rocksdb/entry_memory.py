"""The memory of a slot for entries as Python objects: one budget for the caches of all its tables."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["ABSENT", "EntryMemory", "entry_memory", "object_bytes"]


class _Absent:
    """The type of ABSENT."""


# Stands for a key without an entry.
ABSENT: Any = _Absent()

# Of a collection the first few elements stand for all.
_FEW = 8
_DEPTH = 4


class EntryCache(Protocol):
    """A table that keeps entries at hand, which it could read again."""

    @property
    def kept_bytes(self) -> int:
        """About how much memory they take."""

    def let_go(self) -> None:
        """Gives up some of them, those that came first."""


class EntryMemory:
    """What all tables together may keep; the largest ones give up entries for the others."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.caches: WeakSet[EntryCache] = WeakSet()

    def available_to(self, cache: EntryCache) -> int:
        """What the others leave; those that have most give up some, so that it is at least an equal share."""
        others = [each for each in self.caches if each is not cache]
        share = self.budget_bytes // (len(others) + 1)
        while (left := self.budget_bytes - sum(each.kept_bytes for each in others)) < share:
            largest = max(others, key=lambda each: each.kept_bytes)
            before = largest.kept_bytes
            largest.let_go()
            if largest.kept_bytes >= before:
                break
        return left

    def relieve(self) -> None:
        """Makes sure that what is kept stays within the budget; called when a table has grown."""
        while sum(cache.kept_bytes for cache in self.caches) > self.budget_bytes:
            largest = max(self.caches, key=lambda cache: cache.kept_bytes)
            before = largest.kept_bytes
            largest.let_go()
            if largest.kept_bytes >= before:
                return


_SHARED: dict[int, EntryMemory] = {}


def entry_memory(budget_bytes: int) -> EntryMemory:
    """The memory of this process; asking again gives the same."""
    return _SHARED.setdefault(budget_bytes, EntryMemory(budget_bytes))


def object_bytes(value: Any, depth: int = _DEPTH) -> int:
    """About how much memory an object takes, with what it holds."""
    size = sys.getsizeof(value, 64)
    if not depth or isinstance(value, (str, bytes, bytearray, int, float)):
        return size
    parts: Collection[Any] = ()
    if isinstance(value, Mapping):
        parts = [part for item in islice(value.items(), _FEW) for part in item]
        count = 2 * len(value)
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = list(islice(value, _FEW))
        count = len(value)
    elif hasattr(value, "__dict__"):
        parts = [vars(value)]
        count = 1
    return size + (sum(object_bytes(part, depth - 1) for part in parts) * count // len(parts) if parts else 0)
