"""Event-time session windows with allowed lateness and the default trigger, much faster than the general operator.

A session that has fired stays until its lateness is over. An element that touches it fires it again, at once if the
session is still over, else when it ends anew. Snapshots are those of the general operator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.operators.windowing.session_calendar import CONTENTS, END, KEY, START, Session, SessionCalendar
from funke.engine.operators.windowing.session_windows import SessionWindowOperator
from funke.engine.operators.windowing.windows import TimeWindow

__all__ = ["LateSessionWindowOperator"]

# How a session stands, in a fifth field: open, over and fired, or fired and open again.
_STATE = 4
_OPEN, _FIRED, _OPEN_AGAIN = range(3)


class LateSessionWindowOperator(SessionWindowOperator):
    """Open sessions stand in the calendar of ends, those that have ever fired in that of departures."""

    def __init__(self, operation: Window, gap_ms: int | None) -> None:
        super().__init__(operation, gap_ms)
        self._departures = SessionCalendar(max(1, (gap_ms or operation.allowed_lateness_ms) // 16))

    def _add_records(
        self, keys: list[Any], values: list[Any], timestamps: list[int], gaps: Iterable[int | None]
    ) -> None:
        # The loop of the operator without lateness, for sessions with a state.
        session_of, others, combine = self._last.get, self._others, self._combine
        first, enter, open_until = self._first, self._calendar.enter, self.passed_time() + 1
        for key, value, time, gap in zip(keys, values, timestamps, gaps):
            end = time + gap  # type: ignore[operator]
            session = session_of(key)
            if session is None and end > open_until:
                session = self._last[key] = [time, end, first(value), key, _OPEN]
                enter(session)
                continue
            if session is None or session[0] > end or time > session[1] or session[4] == _FIRED or key in others:
                self._add_elsewhere(key, value, time, end)
                continue
            if time < session[0]:  # noqa: PLR1730
                session[0] = time
            if end > session[1]:  # noqa: PLR1730
                session[1] = end
            contents = session[2]
            session[2] = first(value) if contents is None else combine(contents, value)

    def _add_elsewhere(self, key: Any, value: Any, time: int, end: int) -> None:
        sessions = self._sessions_of(key)
        touched = [session for session in sessions if session[START] <= end and time <= session[END]]
        if not touched:
            if end - 1 + self.lateness_ms <= self.passed_time():
                self.skip(value, time)
                return
            # As if it had fired: `_fire_or_wait` fires it at once, or lets it wait for its end.
            session = [time, end, None, key, _FIRED]
            self._departures.enter(session)
        else:
            session = self._merged(touched)
        session[START], session[END] = min(session[START], time), max(session[END], end)
        contents = session[CONTENTS]
        session[CONTENTS] = self._first(value) if contents is None else self._combine(contents, value)
        left = [other for other in sessions if not any(other is each for each in touched)]
        self._keep_sessions(key, [*left, session])
        self._fire_or_wait(session, time)

    def _fire_or_wait(self, session: Session, time: int) -> None:
        if session[END] - 1 <= self.passed_time():
            self._fire(session, time)
        elif session[_STATE] == _FIRED:
            session[_STATE] = _OPEN_AGAIN
            self._calendar.enter(session)

    def end_sessions(self, last: int) -> None:
        """Fires the sessions that are over, and forgets those whose lateness is over too."""
        until = min(last + 1, MAX_WATERMARK)
        for session in self._calendar.take_ended(until):
            if session[_STATE] == _OPEN:
                self._departures.enter(session)
            session[_STATE] = _FIRED
            self._fire(session, session[END] - 1)
        for session in self._departures.take_ended(until - self.lateness_ms):
            self._depart(session)
        self.results.send()

    def _fire(self, session: Session, timestamp: int) -> None:
        contents = session[CONTENTS]
        if contents is not None and self.operation.aggregate is not None:
            contents = self.operation.aggregate.get_result(contents)
        if contents is None:
            return
        self.backend.current_key = session[KEY]
        # The session goes on: what it keeps must not change with what the function does to its list.
        elements = contents.copy() if self.keeps_elements else [contents]
        self.evaluate(TimeWindow(session[START], session[END]), elements, timestamp)

    def _depart(self, session: Session) -> None:
        key = session[KEY]
        self._keep_sessions(key, [other for other in self._sessions_of(key) if other is not session])
        if self.call.has_clear:
            self.backend.current_key = key
            self.call.clear(TimeWindow(session[START], session[END]))

    def finish_key(self, key: Any) -> None:
        super().finish_key(key)
        self._departures.start_anew()

    def _timers_of(self, window: TimeWindow, session: Session) -> list[int]:
        last = window.max_timestamp()
        departure = last + self.lateness_ms
        return [departure] if session[_STATE] == _FIRED else [last, departure]

    def _enter_restored(self, session: Session, is_waiting: bool) -> None:
        session.append(_OPEN if is_waiting else _FIRED)
        (self._calendar if is_waiting else self._departures).enter(session)
