"""What the process of a slot takes, as its watcher sees it: when it is too much, and during whose turns it grew."""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from collections.abc import Callable

from funke.engine.config.memory_model import size_text
from funke.engine.config.slot_memory import MemoryLimit
from funke.engine.types.operator_location import NOWHERE, OperatorLocation

__all__ = ["MemoryWatch", "own_bytes_of"]

# From this part of the limit on the user is warned, and the watcher looks more often.
_SOFT = 0.8
# Beyond what a slot has loaded before any user function runs, growth of less than this says nothing.
_LEAST_GROWTH = 1 << 20
# So many looks while no operator runs tell whether the process grows then too, and as fast as with one.
_ENOUGH_LOOKS = 5
_AS_FAST = 0.5


class MemoryWatch:
    """Compares what a process has with what it may have."""

    def __init__(
        self,
        limit: MemoryLimit,
        own_bytes: Callable[[], int | None],
        whose_turn: Callable[[], OperatorLocation],
    ) -> None:
        self._limit = limit
        self._own_bytes = own_bytes
        self._whose_turn = whose_turn
        self._grown: Counter[OperatorLocation] = Counter()
        # How often the watch has looked during whose turns.
        self._looks: Counter[OperatorLocation] = Counter()
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
        whose = self._whose_turn()
        if self._before is not None:
            self._looks[whose] += 1
        self._before = size
        if growth >= _LEAST_GROWTH:
            self._grown[whose] += growth
        self.is_close = size > self._limit.size * _SOFT
        return size if size > self._limit.size else None

    def warning(self) -> str:
        """A warning before the memory is exhausted; given once, else empty."""
        if not self.is_close or self._is_warned:
            return ""
        self._is_warned = True
        return (
            f"this slot has {size_text(self._before or 0)} of memory and fails at {size_text(self._limit.size)} "
            f"({self._limit.origin}){self._taken_by(': ')}"
        )

    @property
    def largest(self) -> OperatorLocation:
        """The operator during whose turns the process grew most; the one whose turn it is when it never grew.

        No operator, if memory grew as fast while none was running: a thread takes memory at any time.
        """
        grown = Counter({location: size for location, size in self._grown.items() if location != NOWHERE})
        if not grown:
            return NOWHERE if self._grown else self._whose_turn()
        location = grown.most_common(1)[0][0]
        return NOWHERE if self._grows_anyway(location) else location

    def _grows_anyway(self, location: OperatorLocation) -> bool:
        idle_looks = self._looks[NOWHERE]
        if idle_looks < _ENOUGH_LOOKS:
            return False
        return self._grown[NOWHERE] / idle_looks >= _AS_FAST * self._grown[location] / max(1, self._looks[location])

    def _taken_by(self, before: str) -> str:
        location = self.largest
        if location != NOWHERE:
            line = f" ({location.user_line})" if location.user_line else ""
            return f"{before}most of it was taken while operator '{location.name}'{line} was running"
        if not self._grown:
            return ""
        return (
            f"{before}it grew as fast while no operator was running: look for a thread, of the program's or of a "
            "library's, that keeps what it makes"
        )

    def excess(self, size: int) -> str:
        """Why the process must end."""
        return (
            f"it had {size_text(size)} of memory, and a slot may have {size_text(self._limit.size)} "
            f"({self._limit.origin}){self._taken_by('; ')}. Give workers more memory, keep less in functions "
            "and state, or keep state outside of memory (state.backend.type: rocksdb); "
            "funke.slot-memory-limit: 0 switches the limit off"
        )


def own_bytes_of(pid: int) -> int | None:
    """What a process has in memory without what is mapped from files; None where the system does not tell.

    Pages that a slot shares with the process it was forked from count: there they would stay if that ended.
    """
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as statm:
        _, resident, shared = statm.read().split()[:3]
        return (int(resident) - int(shared)) * mmap.PAGESIZE
    return None
