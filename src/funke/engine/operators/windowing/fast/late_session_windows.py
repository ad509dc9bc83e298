"""Event-time session windows with allowed lateness and the default trigger, much faster than the general operator.

A session that has fired stays until its lateness is over. An element that touches it fires it again, at once if the
session is still over, else when it ends anew. Snapshots are those of the general operator.
"""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import Window
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.operators.windowing.fast.session_calendar import CONTENTS, END, KEY, START, Session, SessionCalendar
from funke.engine.operators.windowing.fast.session_windows import SessionWindowOperator
from funke.engine.operators.windowing.windows import TimeWindow

__all__ = ["LateSessionWindowOperator"]

# How a session stands that has ever fired, in a fifth field: over, or open again.
_STATE = 4
_FIRED, _OPEN_AGAIN = range(2)


class LateSessionWindowOperator(SessionWindowOperator):
    """Open sessions stand in the calendar of ends, those that have ever fired in that of departures."""

    def __init__(self, operation: Window, gap_ms: int | None) -> None:
        super().__init__(operation, gap_ms)
        self._departures = SessionCalendar(max(1, (gap_ms or operation.allowed_lateness_ms) // 16))

    def _open_session(self, key: Any, time: int, end: int) -> Session:
        # As if it had fired: `_added` fires it at once, or lets it wait for its end.
        session: Session = [time, end, None, key, _FIRED]
        self._departures.enter(session)
        return session

    def _keep_sessions(self, key: Any, sessions: list[Session]) -> None:
        super()._keep_sessions(key, sessions)
        if sessions and _has_fired(sessions[-1]):
            self._divert(key)

    def _divert(self, key: Any) -> None:
        """The next element of a key whose session has fired is not simply added: it fires it again, or opens it."""
        self._others.setdefault(key, [])

    def _added(self, session: Session, time: int) -> None:
        if session[END] - 1 <= self.passed_time():
            self._fire(session, time)
        elif _has_fired(session):
            session[_STATE] = _OPEN_AGAIN
            self._calendar.enter(session)

    def end_sessions(self, last: int) -> None:
        """Fires the sessions that are over, and forgets those whose lateness is over too."""
        until = min(last + 1, MAX_WATERMARK)
        for session in self._calendar.take_ended(until):
            if len(session) == _STATE:
                session.append(_FIRED)
                self._departures.enter(session)
            session[_STATE] = _FIRED
            self._divert(session[KEY])
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
        return [departure] if _has_fired(session) else [last, departure]

    def _enter_restored(self, session: Session, is_waiting: bool) -> None:
        if is_waiting:
            self._calendar.enter(session)
        else:
            session.append(_FIRED)
            self._departures.enter(session)


def _has_fired(session: Session) -> bool:
    return len(session) > _STATE and session[_STATE] == _FIRED
