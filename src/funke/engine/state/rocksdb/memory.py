"""The memory of RocksDB in a slot: one cache and one budget of write buffers for all databases of the process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["SlotMemory", "slot_memory"]


# Databases write a buffer into a file when there is too much in all buffers, but only their own, and they do not wait
# for it. Beyond so many times the budget the largest buffers are written while processing waits.
_MOST_BUFFERS = 1.5


class Buffered(Protocol):
    """A database that has write buffers."""

    def buffered_bytes(self) -> int:
        """The size of its write buffers."""

    def empty_buffers(self) -> None:
        """Writes them into files, and waits for it."""


@dataclass(frozen=True)
class SlotMemory:
    """What databases share; write buffers count as a part of the cache."""

    cache: Any
    buffers: Any
    cache_bytes: int
    buffer_bytes: int
    users: WeakSet[Buffered] = field(default_factory=WeakSet)

    def relieve(self) -> None:
        """Makes sure that write buffers stay within their budget; called after something was written."""
        while self.buffers.get_usage() > self.buffer_bytes * _MOST_BUFFERS:
            largest = max(self.users, key=lambda user: user.buffered_bytes())
            before = largest.buffered_bytes()
            largest.empty_buffers()
            # An empty database has a little buffer too: there may be more databases than memory.
            if largest.buffered_bytes() >= before:
                return


_SHARED: dict[tuple[int, float], SlotMemory] = {}


def slot_memory(rocks: Any, memory_bytes: int, write_buffer_ratio: float) -> SlotMemory:
    """The memory of this process; asking again gives the same."""
    memory = _SHARED.get((memory_bytes, write_buffer_ratio))
    if memory is None:
        memory = _SHARED[memory_bytes, write_buffer_ratio] = _create(rocks, memory_bytes, write_buffer_ratio)
    return memory


def _create(rocks: Any, memory_bytes: int, write_buffer_ratio: float) -> SlotMemory:
    # Write buffers take up to half more than their budget: with these sizes all of it together stays within the
    # memory. Flink divides it in the same way.
    buffer_bytes = int(memory_bytes * write_buffer_ratio * 2 / 3)
    cache_bytes = int(memory_bytes * (3 - write_buffer_ratio) / 3)
    cache = rocks.Cache(cache_bytes)
    buffers = rocks.WriteBufferManager.new_write_buffer_manager_with_cache(buffer_bytes, False, cache)
    return SlotMemory(cache, buffers, cache_bytes, buffer_bytes)
