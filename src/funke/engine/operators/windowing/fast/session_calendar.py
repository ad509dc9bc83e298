"""Finds the sessions that are over without moving a timer for every element that makes a session longer.

A session is entered under the end it had when it was entered. When that time comes and it has grown since, it is
entered again. Sessions that end far in the future wait in coarse buckets (8 bytes each), those that end soon in a heap.
"""

from __future__ import annotations

from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

__all__ = ["END", "KEY", "START", "Session", "SessionCalendar"]

# A session is a list, which takes half the memory of an object: start, end (None when it is gone), contents, key.
Session = list[Any]
START, END, CONTENTS, KEY = range(4)
_END = itemgetter(END)


class SessionCalendar:
    """Sessions by the time when they end."""

    def __init__(self, bucket_ms: int) -> None:
        self._bucket_ms = bucket_ms
        self._buckets: dict[int, list[Session]] = {}
        self._bucket_numbers: list[int] = []
        self._soon: list[tuple[int, int, Session]] = []
        self._entered = 0
        # Buckets up to this one have been emptied into the heap.
        self._begun = -(1 << 63)

    def enter(self, session: Session) -> None:
        """Makes sure that the session is looked at when it ends."""
        number = session[END] // self._bucket_ms
        if number <= self._begun:
            self._entered += 1
            # The number keeps heapq from comparing sessions, whose contents may have no order.
            heappush(self._soon, (session[END], self._entered, session))
            return
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [session]
            heappush(self._bucket_numbers, number)
        else:
            bucket.append(session)

    def take_ended(self, until: int) -> list[Session]:
        """Takes out the sessions that end at or before `until`, in order of their ends."""
        ended: list[Session] = []
        self._begun = max(self._begun, until // self._bucket_ms)
        while self._bucket_numbers and self._bucket_numbers[0] <= self._begun:
            for session in self._buckets.pop(heappop(self._bucket_numbers)):
                self._take_or_enter(session, until, ended)
        soon = self._soon
        while soon and soon[0][0] <= until:
            self._take_or_enter(heappop(soon)[2], until, ended)
        ended.sort(key=_END)
        return ended

    def next_look(self) -> int | None:
        """A time before which no session ends; None if there is none. Once it has come, the next one is closer."""
        soonest = self._soon[0][0] if self._soon else None
        if not self._bucket_numbers:
            return soonest
        bucket_start = self._bucket_numbers[0] * self._bucket_ms
        return bucket_start if soonest is None else min(soonest, bucket_start)

    def _take_or_enter(self, session: Session, until: int, ended: list[Session]) -> None:
        if session[END] is None:
            return
        if session[END] <= until:
            ended.append(session)
        else:
            self.enter(session)

    def start_anew(self) -> None:
        """Lets time begin again, as for the next key in batch mode; there are no sessions."""
        self._begun = -(1 << 63)
