"""Processing-time session windows with the default trigger: those of event time, by the clock of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import MIN_WATERMARK
from funke.engine.operators.windowing.fast.session_windows import SessionWindowOperator
from funke.engine.state.snapshot.file_format import GroupPart

__all__ = ["ProcessingTimeSessionOperator"]


class ProcessingTimeSessionOperator(SessionWindowOperator):
    """The records of a batch come at the time of the batch; nothing is late."""

    def __init__(self, operation: Window, gap_ms: int | None) -> None:
        super().__init__(operation, gap_ms)
        self.lateness_ms = 0

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.records_in += len(values)
        now_ms = self.timer_service.current_processing_time()
        gaps = repeat(self._gap_ms) if self._gap_ms is not None else map(self.assigner._gap, values)
        self._add_records(self.keys_of(values), values, [now_ms] * len(values), gaps)

    def passed_time(self) -> int:
        """Nothing comes late on this clock."""
        return MIN_WATERMARK

    def advance_event_time(self, watermark: int) -> None:
        """Event time means nothing to these windows."""
        KeyedOperator.advance_event_time(self, watermark)

    def on_processing_time(self, now_ms: int) -> None:
        """Fires the sessions that are over, and forgets them."""
        self.end_sessions(now_ms)

    def next_wakeup_ms(self) -> int | None:
        """When the next session may be over."""
        next_end = self._calendar.next_look()
        return None if next_end is None else next_end - 1

    def snapshot_state(self) -> Iterator[tuple[int, GroupPart]]:
        for group, part in super().snapshot_state():
            yield group, part._replace(event_timers=[], processing_timers=part.event_timers)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(
            (group, part._replace(event_timers=part.processing_timers, processing_timers=[])) for group, part in parts
        )
