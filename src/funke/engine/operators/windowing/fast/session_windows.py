"""Event-time session windows with the default trigger, much faster than the general operator.

A session is found by its key and grows in place; windows are only made when sessions fire. Snapshots are those of the
general operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.operators.record_copy import are_plain
from funke.engine.operators.windowing.combining import combining_of
from funke.engine.operators.windowing.fast.session_calendar import CONTENTS, END, KEY, START, Session, SessionCalendar
from funke.engine.operators.windowing.window_operator import CONTENTS as CONTENTS_NAME
from funke.engine.operators.windowing.window_operator import MERGING_SET, WindowOperator
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.keyed.state_kinds import kind_of
from funke.engine.state.keyed.timer_queue import TimerQueue
from funke.engine.state.snapshot.file_format import GroupPart, TableId
from funke.engine.state.snapshot.part_chunks import PartChunks
from funke.engine.types import NO_TIMESTAMP, PickledBytesTypeInfo

__all__ = ["SessionWindowOperator"]

_DEFAULT_BUCKET_MS = 1000
_MERGING_TABLE = TableId(MERGING_SET, None, False, "value")


class SessionWindowOperator(WindowOperator):
    """Keeps the session of each key to which an element came last, and apart from it the key's other ones."""

    def __init__(self, operation: Window, gap_ms: int | None) -> None:
        super().__init__(operation)
        self._gap_ms = gap_ms
        self._last: dict[Any, Session] = {}
        # Earlier sessions of keys that have several, in the order in which elements came to them.
        self._others: dict[Any, list[Session]] = {}
        self._calendar = SessionCalendar(max(1, (gap_ms or _DEFAULT_BUCKET_MS) // 16))
        self._first, self._combine, self._merge_two = combining_of(operation)

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        if timestamps is None or min(timestamps) == NO_TIMESTAMP:
            # The assigner knows how to complain.
            self.assigner.assign_windows(values[0], NO_TIMESTAMP, self.assigner_context)
            return
        self.records_in += len(values)
        gaps = repeat(self._gap_ms) if self._gap_ms is not None else map(self.assigner._gap, values)
        self._add_records(self.keys_of(values), values, timestamps, gaps)
        self.results.send()

    def _add_records(
        self, keys: list[Any], values: list[Any], timestamps: list[int], gaps: Iterable[int | None]
    ) -> None:
        # The hot path: most elements make their key's last session longer (0.25 µs without the user's function).
        session_of, others, combine = self._last.get, self._others, self._combine
        first, enter, open_until = self._first, self._calendar.enter, self.passed_time() + 1
        for key, value, time, gap in zip(keys, values, timestamps, gaps):
            end = time + gap  # type: ignore[operator]
            session = session_of(key)
            if session is None and end > open_until:
                session = self._last[key] = [time, end, first(value), key]
                enter(session)
                continue
            if session is None or session[0] > end or time > session[1] or key in others:
                self._add_elsewhere(key, value, time, end)
                continue
            # Not min() and max(): calls would cost more than all the rest.
            if time < session[0]:  # noqa: PLR1730
                session[0] = time
            if end > session[1]:  # noqa: PLR1730
                session[1] = end
            contents = session[2]
            session[2] = first(value) if contents is None else combine(contents, value)

    def _add_elsewhere(self, key: Any, value: Any, time: int, end: int) -> None:
        """Opens a session, or goes on with those that the element touches, which become one."""
        sessions = self._sessions_of(key)
        touched = [session for session in sessions if session[START] <= end and time <= session[END]]
        if not touched and end - 1 + self.lateness_ms <= self.passed_time():
            self.skip(value, time)
            return
        session = self._merged(touched) if touched else self._open_session(key, time, end)
        session[START], session[END] = min(session[START], time), max(session[END], end)
        contents = session[CONTENTS]
        session[CONTENTS] = self._first(value) if contents is None else self._combine(contents, value)
        self._added(session, time)
        self._keep_sessions(
            key, [*(other for other in sessions if not any(other is each for each in touched)), session]
        )

    def _open_session(self, key: Any, time: int, end: int) -> Session:
        """A session without contents."""
        session: Session = [time, end, None, key]
        self._calendar.enter(session)
        return session

    def _added(self, session: Session, time: int) -> None:
        """An element of some time has come to a session."""

    def passed_time(self) -> int:
        """The time up to which sessions are over."""
        return self.timer_service.watermark

    def _merged(self, sessions: list[Session]) -> Session:
        target, *moved = sessions
        other_contents = [session[CONTENTS] for session in moved if session[CONTENTS] is not None]
        for session in moved:
            target[START] = min(target[START], session[START])
            target[END] = max(target[END], session[END])
            session[END] = None
        if other_contents:
            merged = other_contents[0]
            for contents in other_contents[1:]:
                merged = self._merge_two(merged, contents)
            own = target[CONTENTS]
            target[CONTENTS] = merged if own is None else self._merge_two(own, merged)
        return target

    def _sessions_of(self, key: Any) -> list[Session]:
        last = self._last.get(key)
        return [] if last is None else [*self._others.get(key, ()), last]

    def _keep_sessions(self, key: Any, sessions: list[Session]) -> None:
        if not sessions:
            del self._last[key]
            self._others.pop(key, None)
            return
        self._last[key] = sessions[-1]
        if len(sessions) > 1:
            self._others[key] = sessions[:-1]
        else:
            self._others.pop(key, None)

    def advance_event_time(self, watermark: int) -> None:
        """Fires the sessions that are over, and forgets them."""
        self.input_watermark = self.timer_service.watermark = watermark
        self.end_sessions(watermark)

    def end_sessions(self, last: int) -> None:
        """Fires and forgets the sessions whose last time is at or before this one."""
        combined: list[Any] = []
        times: list[int] = []
        for session in self._calendar.take_ended(min(last + 1, MAX_WATERMARK)):
            key = session[KEY]
            if key in self._others:
                self._keep_sessions(key, [other for other in self._sessions_of(key) if other is not session])
            else:
                del self._last[key]
            if session[CONTENTS] is not None:
                combined.append(session[CONTENTS])
                times.append(session[END] - 1)
                if self.call.evaluate is not None:
                    self._evaluate_session(session)
            if self.call.has_clear:
                self.backend.current_key = key
                self.call.clear(TimeWindow(session[START], session[END]))
        if self.call.evaluate is None:
            self._emit_combined(combined, times)
        self.results.send()

    def _evaluate_session(self, session: Session) -> None:
        self.backend.current_key = session[KEY]
        window = TimeWindow(session[START], session[END])
        contents = session[CONTENTS]
        if self.keeps_elements:
            self.evaluate(window, contents, window.max_timestamp())
            return
        combined = contents if self.operation.reduce is not None else self.operation.aggregate.get_result(contents)
        if combined is not None:
            self.evaluate(window, [combined], window.max_timestamp())

    def _emit_combined(self, combined: list[Any], times: list[int]) -> None:
        if self.operation.aggregate is not None:
            combined = list(map(self.operation.aggregate.get_result, combined))
        if any(result is None for result in combined):
            pairs = [(result, time) for result, time in zip(combined, times) if result is not None]
            combined, times = [result for result, _ in pairs], [time for _, time in pairs]
        # A reduced value is not used again: its session is gone.
        if self.operation.reduce is not None or are_plain(combined):
            self.results.values.extend(combined)
            self.results.timestamps.extend(times)
            return
        for result, time in zip(combined, times):
            self.results.take((result,), time)

    def finish_key(self, key: Any) -> None:
        super().finish_key(key)
        self._calendar.start_anew()

    def snapshot_state(self) -> Iterator[tuple[int, GroupPart]]:
        """State and timers as the general operator would have them."""
        yield from super().snapshot_state()
        kind = kind_of(self.contents_descriptor)
        chunks = PartChunks(self.context.task.key_groups)
        for key in self._last:
            windows = [(TimeWindow(session[START], session[END]), session) for session in self._sessions_of(key)]
            entries: list[tuple[TableId, Any]] = [
                (TableId(CONTENTS_NAME, window, False, kind), session[CONTENTS])
                for window, session in windows
                if session[CONTENTS] is not None
            ]
            entries.append((_MERGING_TABLE, {window: window for window, _ in windows}))
            timers = [(time, (key, window)) for window, session in windows for time in self._timers_of(window, session)]
            yield from chunks.add(key, entries, timers)
        yield from chunks.rest()

    def _timers_of(self, window: TimeWindow, session: Session) -> list[int]:
        return [window.max_timestamp()]

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Takes back state; each window that is open becomes a session."""
        super().restore_keyed(parts)
        timers = self.timer_service.event_timers.items()
        waiting = {entry for time, entry in timers if time == entry[1].max_timestamp()}
        self.timer_service.event_timers = TimerQueue()
        state = self.backend.get_state(ValueStateDescriptor(MERGING_SET, PickledBytesTypeInfo()))
        for key, mapping in state.table.items():
            sessions = []
            for window, state_window in mapping.items():
                table = self.backend.get_state(self.contents_descriptor, state_window).table
                session = [window.start, window.end, table.pop(key, None), key]
                self._enter_restored(session, (key, window) in waiting)
                sessions.append(session)
            self._keep_sessions(key, sessions)
        state.table.clear()

    def _enter_restored(self, session: Session, is_waiting: bool) -> None:
        self._calendar.enter(session)
