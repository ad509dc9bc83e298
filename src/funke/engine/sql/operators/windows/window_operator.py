"""The base of operators with windows: the progress of time, the windows that it closes, and its snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.operators.operator import MIN_WATERMARK, Operator, OperatorContext
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING, WatermarkPatience
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.operators.windows.local_time import LocalTime
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["WindowOperator"]

_ADVICE = (
    "A part of the source has no data, or rows without a time: 'table.exec.source.idle-timeout' or the table's "
    "'scan.watermark.idle-timeout' lets the others go on without it"
)


class WindowOperator(Operator):
    """Closes windows when the watermark, or the clock, has passed their ends; times are those of the wall clock."""

    takes_rows = False
    takes_columns = True

    def __init__(self, time: WindowTime, keys: Sequence[int] = ()) -> None:
        """`keys` are the indexes of the columns that partition rows."""
        self.time = time
        self._key_watch = KeyWatch(keys)
        self.local = LocalTime(time.zone)
        self._watermark = MIN_WATERMARK
        # Windows that end here or before are closed.
        self.closed = self.local.last_shown(MIN_WATERMARK) + 1
        self.late = self.without_time = 0

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        self._clock = context.task.clock
        self._patience = WatermarkPatience(self.time.is_event_time and not context.task.is_batch, _ADVICE)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes in rows; those that have no open window are dropped."""
        self.records_in += len(batch)
        self._key_watch.look(batch.data)
        now = 0
        if not self.time.is_event_time:
            now = self._clock.now_ms()
            # Windows that the clock has passed close first: their timer may not have fired yet.
            self.on_processing_time(now)
        self.add_rows(batch, now)

    def hottest_key(self) -> dict[str, Any]:
        return self._key_watch.hottest()

    def add_rows(self, batch: ColumnBatch, now_ms: int) -> None:
        """Takes in rows that come now."""
        raise NotImplementedError

    def close_windows(self, before: int) -> None:
        """Sends the results of windows that end behind `before` and are closed now."""
        raise NotImplementedError

    def next_end(self) -> int | None:
        """The end of the first open window."""
        raise NotImplementedError

    def process_watermark(self, watermark: int) -> None:
        """Sends the results of the windows that end before it, then the watermark."""
        if self.time.is_event_time:
            self._watermark = watermark
            self._advance(watermark)
        self.output.emit_watermark(watermark)

    def on_processing_time(self, now_ms: int) -> None:
        if not self.time.is_event_time:
            self._advance(now_ms - 1)

    def _advance(self, reached_ms: int) -> None:
        # Never back, whatever the clock does: closed windows stay closed.
        before, self.closed = self.closed, max(self.closed, self.local.last_shown(reached_ms) + 1)
        self.close_windows(before)

    def next_wakeup_ms(self) -> int | None:
        end = None if self.time.is_event_time else self.next_end()
        return None if end is None else self.local.to_instant(end - 1) + 1

    def end_input(self) -> None:
        """Sends what is due; as in Flink, windows that the clock has not passed give no results."""
        self.on_processing_time(self._clock.now_ms())

    def snapshot(self) -> OperatorStateSnapshot:
        """The watermark: what was late before a restart is late after it."""
        return OperatorStateSnapshot(unions={"watermark": [self._watermark]})

    def restore(self, state: OperatorStateSnapshot) -> None:
        # The least of all subtasks: keys may have come from any of them, and no row may be late that was not late
        # there.
        self._watermark = min(state.unions["watermark"])
        self.closed = self.local.last_shown(self._watermark) + 1

    def metrics(self) -> dict[str, Any]:
        dropped = {"numLateRecordsDropped": self.late, "numNullRowTimeRecordsDropped": self.without_time}
        now, name = self._clock.now_ms(), self.context.operator_name
        is_missing = self._patience.is_over(self._watermark, self.records_in, now, name)
        return dropped | ({WATERMARK_MISSING: 1} if is_missing else {})
