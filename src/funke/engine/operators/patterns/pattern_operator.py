"""The operator around a pattern: events wait for the watermark, and are matched key by key in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from typing import Any

from funke.engine.graph.operations import MatchPattern
from funke.engine.operators.patterns.match_results import MatchResults
from funke.engine.operators.patterns.pattern_matching import Completed
from funke.engine.operators.patterns.runs import KeyRuns, StoredRuns
from funke.engine.operators.patterns.waiting_events import WaitingEvents
from funke.engine.state.snapshot.file_format import GroupPart

__all__ = ["PatternOperator"]


class PatternOperator(MatchResults):
    """Runs a MatchPattern."""

    def __init__(self, operation: MatchPattern) -> None:
        super().__init__(operation.function, operation.pattern, operation.is_event_time, operation.key_selector)
        self._late_tag = operation.late_tag
        self._order = None if operation.comparator is None else cmp_to_key(operation.comparator)
        self._waiting = WaitingEvents()

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
        watermark = self.timer_service.watermark
        self.late_dropped.inc(self._waiting.add(values, keys, timestamps, watermark, self.results, self._late_tag))

    def advance_event_time(self, watermark: int) -> None:
        """Matches the events that the watermark has passed, then ends what is over."""
        self.input_watermark = self.timer_service.watermark = watermark
        if self.is_event_time:
            self._match(self._waiting.take_until(watermark), watermark)
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
            key_runs = opened.get(key)
            if key_runs is None:
                stored = find(key)
                if stored is None and not may_start(event):
                    skipped += 1
                    continue
                key_runs = opened[key] = KeyRuns.of(stored), stored
            runs = key_runs[0]
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

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        yield from super().snapshot_timers()
        yield from self._waiting.snapshot_parts(self.context.task.key_groups)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(self._waiting.restored(parts))
