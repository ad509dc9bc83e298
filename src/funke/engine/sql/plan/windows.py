"""Windows in plans: their text in EXPLAIN, and the watermarks at which they close."""

from __future__ import annotations

from collections.abc import Sequence

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowAggregation, WindowTable, WindowTime
from funke.engine.sql.plan import EVERY_WATERMARK, FOR_LATE_ROWS, WatermarkStep, column_name
from funke.engine.sql.window_kinds import SlicedWindows, Windows

__all__ = ["WINDOW_COLUMNS", "session_keys", "window_step", "windows_text"]

# The last columns of a relation with windows.
WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


def windows_text(bounds: str, windows: Windows, keys: Sequence[Column] = ()) -> str:
    """TUMBLE(time_col=[ts], size=[5 s]): what windows lie by, their lengths, and the keys of sessions."""
    parts = [bounds, *(f"{name}=[{_duration(value)}]" for name, value in windows.explained_lengths if value)]
    if keys:
        parts.append(f"partition keys=[{', '.join(map(column_name, keys))}]")
    return f"{windows.name.upper()}({', '.join(parts)})"


def session_keys(maker: WindowTable | WindowAggregation) -> Sequence[Column]:
    """The columns that sessions are partitioned by; other windows have none."""
    if maker.windows is None or not maker.windows.is_merging:
        return ()
    indexes = maker.keys if isinstance(maker, WindowAggregation) else maker.partition_by or ()
    return [maker.input.columns[index] for index in indexes]


def _duration(value_ms: int) -> str:
    """In the largest unit that divides it: 5 s, 90 min."""
    units = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
    unit, length = next((each for each in units if value_ms % each[1] == 0), ("ms", 1))
    return f"{value_ms // length} {unit}"


def window_step(time: WindowTime, windows: Windows | None) -> WatermarkStep | None:
    """The watermarks at which windows close; None without event time."""
    if not time.is_event_time:
        return None
    if time.zone is not None:
        # Clocks are set back: a window may be open again for a row that is not late.
        return EVERY_WATERMARK
    if not isinstance(windows, SlicedWindows):
        # The bounds of sessions are multiples of nothing.
        return FOR_LATE_ROWS
    return WatermarkStep(windows.width_ms, windows.offset_ms, is_for_late_rows=True)
