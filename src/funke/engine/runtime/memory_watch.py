"""What the process of a slot takes, as its watcher sees it: when it is too much, and during whose turns it grew."""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from collections.abc import Callable

from funke.engine.config.memory_model import size_text
from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.types.operator_place import NOWHERE, OperatorPlace

__all__ = ["MemoryWatch", "own_bytes_of"]

# From this part of the limit on the user is warned, and the watcher looks more often.
_SOFT = 0.8
# Beyond what a slot has loaded before any function of the user's runs, growth of less than this says nothing.
_LEAST_GROWTH = 1 << 20


class MemoryWatch:
    """Compares what a process has with what it may have."""

    def __init__(
        self,
        limit: MemoryLimit,
        own_bytes: Callable[[], int | None],
        whose_turn: Callable[[], OperatorPlace],
    ) -> None:
        self._limit = limit
        self._own_bytes = own_bytes
        self._whose_turn = whose_turn
        self._grown: Counter[OperatorPlace] = Counter()
        self._before: int | None = None
        self._is_warned = False
        # Whether the limit is near.
        self.is_close = False

    def look(self) -> int | None:
        """How much the process has, if that is more than it may have."""
        size = self._own_bytes()
        if size is None:
            return None
        growth = 0 if self._before is None else size - self._before
        self._before = size
        if growth >= _LEAST_GROWTH:
            self._grown[self._whose_turn()] += growth
        self.is_close = size > self._limit.size * _SOFT
        return size if size > self._limit.size else None

    def warning(self) -> str:
        """What the user should know before it is too late; told once, else empty."""
        if not self.is_close or self._is_warned:
            return ""
        self._is_warned = True
        return (
            f"this slot has {size_text(self._before or 0)} of memory and fails at {size_text(self._limit.size)} "
            f"({self._limit.origin}){_taken_by(self.largest, ': ')}"
        )

    @property
    def largest(self) -> OperatorPlace:
        """The operator during whose turns the process grew most; the one whose turn it is when it never grew."""
        grown = Counter({place: size for place, size in self._grown.items() if place != NOWHERE})
        return grown.most_common(1)[0][0] if grown else self._whose_turn()

    def excess(self, size: int) -> str:
        """Why the process must end."""
        return (
            f"it had {size_text(size)} of memory, and a slot may have {size_text(self._limit.size)} "
            f"({self._limit.origin}){_taken_by(self.largest, '; ')}. Give workers more memory, keep less in functions "
            "and state, or keep state outside of memory (state.backend.type: rocksdb); "
            "funke.slot-memory-limit: 0 switches the limit off"
        )


def _taken_by(place: OperatorPlace, before: str) -> str:
    line = f" ({place.user_line})" if place.user_line else ""
    return f"{before}most of it was taken while operator '{place.name}'{line} was running" if place != NOWHERE else ""


def own_bytes_of(pid: int) -> int | None:
    """What a process has in memory without what is mapped from files; None where the system does not tell.

    Pages that a slot shares with the process it was forked from count: there they would stay if that ended.
    """
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as statm:
        _, resident, shared = statm.read().split()[:3]
        return (int(resident) - int(shared)) * mmap.PAGESIZE
    return None
