"""Timers: what a queue of them can do, and one that is in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from funke.engine.state.storage_keys import group_of
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["EVENT_TIME", "PROCESSING_TIME", "TimerQueue", "Timers"]

# The two queues of an operator.
EVENT_TIME, PROCESSING_TIME = 0, 1


class Timers(ABC):
    """Timers of one clock, without duplicates. An entry says whose timer it is: a stored key, or a (stored key,
    namespace).
    """

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def register(self, time: int, entry: Any) -> None:
        """Sets a timer; one that is set already stays as it is."""

    @abstractmethod
    def delete(self, time: int, entry: Any) -> None:
        """Removes a timer, if it is set."""

    @abstractmethod
    def next_time(self) -> int | None:
        """The time of the earliest timer."""

    @abstractmethod
    def fire(self, until: int, on_timer: Callable[[int, Any], None]) -> int:
        """Calls `on_timer(time, entry)` for every timer at or before `until`, in order of time; returns how many.

        Timers that are set on the way fire too if they are due, those that are deleted do not.
        """

    @abstractmethod
    def items(self) -> Iterator[tuple[int, Any]]:
        """All timers, unordered."""

    @abstractmethod
    def snapshot(self, key_groups: KeyGroups, key_of: Callable[[Any], Any]) -> dict[int, list[tuple[int, Any]]]:
        """All timers that are in memory, by key group; those outside are in the snapshot of the backend."""

    def restore(self, timers: Iterable[tuple[int, Any]]) -> None:
        """Takes back one key group."""
        for time, entry in timers:
            self.register(time, entry)


class TimerQueue(Timers):
    """Timers in memory.

    Timers at the same time share a bucket, so setting one of many timers for the end of the same window costs a dict
    access; the heap holds each time once.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._buckets: dict[int, dict[Any, None]] = {}
        self._empty_buckets = 0
        self._firing_time: int | None = None
        self._firing: dict[Any, None] = {}

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values())) + len(self._firing)

    def register(self, time: int, entry: Any) -> None:
        if time == self._firing_time and entry in self._firing:
            return
        bucket = self._buckets.get(time)
        if bucket is None:
            self._buckets[time] = {entry: None}
            heappush(self._times, time)
            return
        if not bucket:
            self._empty_buckets -= 1
        bucket[entry] = None

    def delete(self, time: int, entry: Any) -> None:
        if time == self._firing_time:
            self._firing.pop(entry, None)
        bucket = self._buckets.get(time)
        if bucket and entry in bucket:
            del bucket[entry]
            if not bucket:
                self._note_empty_bucket()

    def next_time(self) -> int | None:
        times = self._times
        while times and not self._buckets[times[0]]:
            del self._buckets[heappop(times)]
            self._empty_buckets -= 1
        return times[0] if times else None

    def fire(self, until: int, on_timer: Callable[[int, Any], None]) -> int:
        fired = 0
        while (time := self.next_time()) is not None and time <= until:
            heappop(self._times)
            self._firing_time, self._firing = time, self._buckets.pop(time)
            try:
                fired += self._fire_bucket(time, on_timer)
            finally:
                self._put_back()
        return fired

    def _fire_bucket(self, time: int, on_timer: Callable[[int, Any], None]) -> int:
        firing, times, fired = self._firing, self._times, 0
        for entry in list(firing):
            if entry in firing:
                del firing[entry]
                fired += 1
                on_timer(time, entry)
                # As in Flink the earliest timer is always next, also one that was set a moment ago.
                if times and times[0] < time and self._buckets[times[0]]:
                    break
        return fired

    def _put_back(self) -> None:
        # What is left was interrupted, by an earlier timer or by a failure.
        time, left = self._firing_time, self._firing
        self._firing_time, self._firing = None, {}
        for entry in left:
            self.register(time, entry)  # type: ignore[arg-type]

    def _note_empty_bucket(self) -> None:
        # Timers that are moved again and again leave empty buckets; they are swept when they are the majority.
        self._empty_buckets += 1
        if self._empty_buckets > 1000 and self._empty_buckets * 2 > len(self._times):
            self._buckets = {time: bucket for time, bucket in self._buckets.items() if bucket}
            self._times = list(self._buckets)
            heapify(self._times)
            self._empty_buckets = 0

    def items(self) -> Iterator[tuple[int, Any]]:
        return ((time, entry) for time, bucket in self._buckets.items() for entry in bucket)

    def snapshot(self, key_groups: KeyGroups, key_of: Callable[[Any], Any]) -> dict[int, list[tuple[int, Any]]]:
        groups: dict[int, list[tuple[int, Any]]] = {}
        for time, entry in self.items():
            groups.setdefault(group_of(key_of(entry), key_groups), []).append((time, entry))
        return groups
