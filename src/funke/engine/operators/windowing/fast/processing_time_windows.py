"""Tumbling and sliding processing-time windows with the default trigger, much faster than the general operator.

They differ from those of event time only in the clock: the records of a batch come at the time of the batch, nothing is
late, and windows fire when the clock says so. Snapshots are those of the general operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.windowing.fast.aligned_windows import AlignedWindowOperator
from funke.engine.state.snapshot.file_format import GroupPart

__all__ = ["ProcessingTimeWindowOperator"]


class ProcessingTimeWindowOperator(AlignedWindowOperator):
    """Keeps windows by their start, like the operator for event time."""

    def __init__(self, operation: Window, size: int, slide: int, offset: int) -> None:
        super().__init__(operation, size, slide, offset)
        self.lateness_ms = 0  # nothing comes late on this clock

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Adds records to the windows of this moment."""
        self.records_in += len(values)
        now_ms = self.timer_service.current_processing_time()
        self.add_records(self.keys_of(values), values, [now_ms] * len(values))

    def _schedule(self, start: int) -> None:
        heappush(self._agenda, (start + self.size - 1, start))

    def advance_event_time(self, watermark: int) -> None:
        """Event time means nothing to these windows."""
        KeyedOperator.advance_event_time(self, watermark)

    def on_processing_time(self, now_ms: int) -> None:
        """Fires the windows that are over, and forgets them."""
        agenda = self._agenda
        while agenda and agenda[0][0] <= now_ms:
            self._on_time(*heappop(agenda))
        super().on_processing_time(now_ms)

    def next_wakeup_ms(self) -> int | None:
        return self._agenda[0][0] if self._agenda else None

    def snapshot_keyed(self) -> Iterator[tuple[int, GroupPart]]:
        return map(_with_processing_timers, super().snapshot_keyed())

    def snapshot_timers(self) -> Iterator[tuple[int, GroupPart]]:
        """Timers for snapshots that hold the state elsewhere."""
        return map(_with_processing_timers, super().snapshot_timers())

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back state; timers say which windows there are."""
        super().restore_keyed(
            (group, part._replace(event_timers=part.processing_timers, processing_timers=[])) for group, part in parts
        )


def _with_processing_timers(chunk: tuple[int, GroupPart]) -> tuple[int, GroupPart]:
    group, part = chunk
    return group, part._replace(event_timers=[], processing_timers=[*part.processing_timers, *part.event_timers])
