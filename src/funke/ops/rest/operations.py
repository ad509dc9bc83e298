"""Long operations: each has a trigger id, under which its outcome can be asked for later."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["Operations", "TooManyOperations"]

# Under way at once; and how many outcomes are kept.
_MOST_RUNNING = 64
_MOST_KEPT = 1_000


class TooManyOperations(Exception):
    """So many are under way that no more are begun."""


class Operations:
    """What was begun, by kind, job and trigger id; the same trigger id begins nothing twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: OrderedDict[tuple[str, str, str], Future[Any]] = OrderedDict()

    def begin(self, kind: str, job_id: str, trigger_id: str | None, action: Callable[[], Any]) -> str:
        """Begins an operation, in a thread of its own; returns its trigger id."""
        trigger = trigger_id or secrets.token_hex(16)
        key = (kind, job_id, trigger)
        outcome: Future[Any] = Future()
        with self._lock:
            if key in self._begun:
                return trigger
            if sum(not each.done() for each in self._begun.values()) >= _MOST_RUNNING:
                raise TooManyOperations
            self._begun[key] = outcome
            self._forget()
        threading.Thread(target=_run, args=(action, outcome), name=f"funke-{kind}", daemon=True).start()
        return trigger

    def outcome(self, kind: str, job_id: str, trigger_id: str) -> Future[Any] | None:
        """The outcome of an operation; None when its id is unknown."""
        with self._lock:
            return self._begun.get((kind, job_id, trigger_id))

    def _forget(self) -> None:
        for key in [key for key, each in self._begun.items() if each.done()][: max(0, len(self._begun) - _MOST_KEPT)]:
            del self._begun[key]


def _run(action: Callable[[], Any], outcome: Future[Any]) -> None:
    try:
        outcome.set_result(action())
    except BaseException as error:  # callers that ask for the outcome get it
        outcome.set_exception(error)
