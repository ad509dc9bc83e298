"""The operator around a pattern: events wait for the watermark, and are matched key by key in the order of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from operator import itemgetter
from typing import Any

from funke.engine.errors import GraphError
from funke.engine.graph.operations import MatchPattern
from funke.engine.operators.patterns.match_results import NO_TIMESTAMPS, MatchResults
from funke.engine.operators.patterns.pattern_matching import Completed
from funke.engine.operators.patterns.runs import KeyRuns, StoredRuns
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["PatternOperator"]

_WAITING = TableId("waiting-events", None, False, "value")


class PatternOperator(MatchResults):
    """Runs a MatchPattern."""

    def __init__(self, operation: MatchPattern) -> None:
        super().__init__(operation.function, operation.pattern, operation.is_event_time, operation.key_selector)
        self._late_tag = operation.late_tag
        self._order = None if operation.comparator is None else cmp_to_key(operation.comparator)
        # Events in front of the watermark: time, stored key, event.
        self._waiting: list[tuple[int, Any, Any]] = []

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Events wait for the watermark; by the clock they are matched as they come."""
        if not values:
            return
        self.records_in += len(values)
        keys = self.keys_of(values)
        if not self.is_event_time:
            now = self.context.task.clock.now_ms()
            self._match([(now, key, value) for key, value in zip(keys, values)], now)
            return
        if timestamps is None or min(timestamps) == NO_TIMESTAMP:
            raise GraphError(NO_TIMESTAMPS)
        watermark = self.timer_service.watermark
        if min(timestamps) > watermark:
            self._waiting.extend(zip(timestamps, keys, values))
            return
        for time, key, value in zip(timestamps, keys, values):
            if time > watermark:
                self._waiting.append((time, key, value))
            elif self._late_tag is not None:
                self.results.take_side(self._late_tag, value, time)
            else:
                self.late_dropped.inc()
        self.results.send()

    def advance_event_time(self, watermark: int) -> None:
        """Matches the events that the watermark has passed, then ends what is over."""
        self.input_watermark = self.timer_service.watermark = watermark
        if self.is_event_time:
            # Sorting finds what is in order already.
            self._waiting.sort(key=itemgetter(0))
            due = bisect_right(self._waiting, watermark, key=itemgetter(0))
            events, self._waiting = self._waiting[:due], self._waiting[due:]
            self._match(events, watermark)
        super().advance_event_time(watermark)

    def _match(self, events: list[tuple[int, Any, Any]], now: int) -> None:
        """Matches events, which are in the order of time; nothing before `now` comes after them."""
        if not events:
            return
        if self._order is not None:
            order = self._order
            events = sorted(events, key=lambda event: (event[0], order(event[2])))
        completed: list[Completed] = []
        # The runs of keys that have any, with what the state has of them.
        opened: dict[Any, tuple[KeyRuns, StoredRuns | None]] = {}
        matcher, expire, may_start = self.matcher, self.expire, self.matcher.may_start
        find, skipped = self._finder(), 0
        # The hot path: most events belong to keys without runs, and begin none (0.25 µs without the condition).
        for time, key, event in events:
            known = opened.get(key)
            if known is None:
                stored = find(key)
                if stored is None and not may_start(event):
                    skipped += 1
                    continue
                known = opened[key] = KeyRuns.of(stored), stored
            runs = known[0]
            if runs.runs and matcher.is_due(runs.runs, time):
                expire(runs, time, completed)
            for match in matcher.advance(runs, event, time, 0, 0):
                completed.append(Completed(time, match, True))
        matcher.count_skipped(skipped)
        for key, (runs, before) in opened.items():
            expire(runs, now, completed)
            self.store(key, before, runs)
        self.send(completed)

    def _finder(self) -> Callable[[Any], StoredRuns | None]:
        """What finds the stored runs of a key."""
        backend, state = self.backend, self.runs
        if backend.is_in_memory:
            in_memory: Callable[[Any], StoredRuns | None] = state.table.get  # type: ignore[attr-defined]
            return in_memory

        def find(key: Any) -> StoredRuns | None:
            backend.current_key = key
            return state.value()

        return find

    # Snapshots: events that wait are in memory, whatever the backend.

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_timers()
        by_key: dict[Any, list[tuple[int, Any]]] = {}
        for time, key, value in self._waiting:
            by_key.setdefault(key, []).append((time, value))
        yield from chunks_of([(_WAITING, by_key.items())], self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(map(self._without_waiting, parts))

    def _without_waiting(self, chunk: tuple[int, GroupPart]) -> tuple[int, GroupPart]:
        group, part = chunk
        for key, events in part.tables.pop(_WAITING, {}).items():
            self._waiting.extend((time, key, value) for time, value in events)
        return group, part
