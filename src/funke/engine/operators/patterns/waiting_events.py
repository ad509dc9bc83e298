"""Events that wait for the watermark, in the order of time; they are in memory, whatever the backend."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from funke.engine.errors import GraphError
from funke.engine.operators.patterns.match_results import NO_TIMESTAMPS
from funke.engine.operators.result_batch import ResultBatch
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import chunks_of
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.watermark_spec import NO_TIMESTAMP

__all__ = ["WaitingEvents"]

_WAITING = TableId("waiting-events", None, False, "value")


class WaitingEvents:
    """Of each event its time, its stored key and itself."""

    def __init__(self) -> None:
        self._events: list[tuple[int, Any, Any]] = []

    def add(
        self,
        values: list[Any],
        keys: list[Any],
        timestamps: list[int] | None,
        watermark: int,
        results: ResultBatch,
        late_tag: OutputTag | None,
    ) -> int:
        """Takes events in; late ones go to their side output. How many are to be dropped as there is none."""
        if timestamps is None or min(timestamps) == NO_TIMESTAMP:
            raise GraphError(NO_TIMESTAMPS)
        if min(timestamps) > watermark:
            self._events.extend(zip(timestamps, keys, values))
            return 0
        dropped = 0
        for time, key, value in zip(timestamps, keys, values):
            if time > watermark:
                self._events.append((time, key, value))
            elif late_tag is not None:
                results.take_side(late_tag, value, time)
            else:
                dropped += 1
        results.send()
        return dropped

    def take_until(self, watermark: int) -> list[tuple[int, Any, Any]]:
        """The events that do not wait any longer; those of the same time in the order in which they have come."""
        # Sorting finds what is in order already.
        self._events.sort(key=itemgetter(0))
        due = bisect_right(self._events, watermark, key=itemgetter(0))
        events, self._events = self._events[:due], self._events[due:]
        return events

    def snapshot_parts(self, key_groups: KeyGroups) -> Iterator[tuple[int, GroupPart]]:
        """Them by key groups."""
        by_key: dict[Any, list[tuple[int, Any]]] = {}
        for time, key, value in self._events:
            by_key.setdefault(key, []).append((time, value))
        yield from chunks_of([(_WAITING, by_key.items())], key_groups)

    def restored(self, parts: Iterable[tuple[int, GroupPart]]) -> Iterator[tuple[int, GroupPart]]:
        """Parts of a snapshot without the events, which wait again."""
        for group, part in parts:
            for key, events in part.tables.pop(_WAITING, {}).items():
                self._events.extend((time, key, value) for time, value in events)
            yield group, part
