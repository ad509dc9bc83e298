"""Timers: queues ordered by time, without duplicates, and the service through which functions set them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, NoReturn

from funke.engine.errors import StateError
from funke.engine.operators.clock import Clock
from funke.engine.operators.functions.runtime_context import TimerService
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.state.keyed_backend import KeyedBackend
from funke.engine.state.storage_keys import group_of

__all__ = ["KeyedTimerService", "NonKeyedTimerService", "TimerQueue"]


class TimerQueue:
    """Timers of one clock. An entry says whose timer it is: a stored key, or a (stored key, namespace).

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
        """Sets a timer; one that is set already stays as it is."""
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
        """Removes a timer, if it is set."""
        if time == self._firing_time:
            self._firing.pop(entry, None)
        bucket = self._buckets.get(time)
        if bucket and entry in bucket:
            del bucket[entry]
            if not bucket:
                self._note_empty_bucket()

    def next_time(self) -> int | None:
        """The time of the earliest timer."""
        times = self._times
        while times and not self._buckets[times[0]]:
            del self._buckets[heappop(times)]
            self._empty_buckets -= 1
        return times[0] if times else None

    def fire(self, until: int, on_timer: Callable[[int, Any], None]) -> None:
        """Calls `on_timer(time, entry)` for every timer at or before `until`, in order of time.

        Timers that are set on the way fire too if they are due, those that are deleted do not.
        """
        while (time := self.next_time()) is not None and time <= until:
            heappop(self._times)
            self._firing_time, self._firing = time, self._buckets.pop(time)
            try:
                self._fire_bucket(time, on_timer)
            finally:
                self._put_back()

    def _fire_bucket(self, time: int, on_timer: Callable[[int, Any], None]) -> None:
        firing, times = self._firing, self._times
        for entry in list(firing):
            if entry in firing:
                del firing[entry]
                on_timer(time, entry)
                if times and times[0] < time and self._buckets[times[0]]:
                    return

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

    def drop(self, is_dropped: Callable[[Any], bool]) -> None:
        """Removes the timers of some entries."""
        for time, bucket in list(self._buckets.items()):
            for entry in [entry for entry in bucket if is_dropped(entry)]:
                self.delete(time, entry)

    def items(self) -> Iterator[tuple[int, Any]]:
        """All timers, unordered."""
        return ((time, entry) for time, bucket in self._buckets.items() for entry in bucket)

    def snapshot(self, max_parallelism: int, key_of: Callable[[Any], Any]) -> dict[int, list[tuple[int, Any]]]:
        """All timers by key group."""
        groups: dict[int, list[tuple[int, Any]]] = {}
        for time, entry in self.items():
            groups.setdefault(group_of(key_of(entry), max_parallelism), []).append((time, entry))
        return groups

    def restore(self, timers: Iterable[tuple[int, Any]]) -> None:
        """Takes back one key group."""
        for time, entry in timers:
            self.register(time, entry)


class KeyedTimerService(TimerService):
    """Sets timers for the backend's current key; knows both clocks."""

    def __init__(self, backend: KeyedBackend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self.watermark = MIN_WATERMARK
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()

    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""
        return self._clock.now_ms()

    def current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when processing time reaches `timestamp`."""
        self.processing_timers.register(timestamp, self._backend.current_key)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the watermark reaches `timestamp`."""
        self.event_timers.register(timestamp, self._backend.current_key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Remove the processing-time timer at `timestamp`, if any."""
        self.processing_timers.delete(timestamp, self._backend.current_key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Remove the event-time timer at `timestamp`, if any."""
        self.event_timers.delete(timestamp, self._backend.current_key)


class NonKeyedTimerService(TimerService):
    """Knows both clocks; timers need a key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark = MIN_WATERMARK

    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""
        return self._clock.now_ms()

    def current_watermark(self) -> int:
        """Return the watermark in milliseconds."""
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> NoReturn:
        """Raise: there is no key."""
        raise StateError("Register timers is only supported on a keyed stream; call key_by() before process()")

    def register_event_time_timer(self, timestamp: int) -> NoReturn:
        """Raise: there is no key."""
        raise StateError("Register timers is only supported on a keyed stream; call key_by() before process()")

    def delete_processing_time_timer(self, timestamp: int) -> NoReturn:
        """Raise: there is no key."""
        raise StateError("Deleting timers is only supported on a keyed stream; call key_by() before process()")

    def delete_event_time_timer(self, timestamp: int) -> NoReturn:
        """Raise: there is no key."""
        raise StateError("Deleting timers is only supported on a keyed stream; call key_by() before process()")
