"""Acknowledged alarms: the dashboard shows them, but does not ask for attention again while they last."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

from funke.engine.errors import FunkeError
from funke.engine.types.json_form import from_json, to_json
from funke.ops.alarms.alarm import Alarm
from funke.ops.service.service_folder import read_json, write_json

__all__ = ["Acknowledgements"]

# An alarm that was gone for longer is another one when it comes back.
_GONE_MS = 10 * 60_000
# How often a file says that an alarm is still there.
_WRITE_MS = 60_000


@dataclass(frozen=True)
class _Seen:
    """An alarm that was acknowledged, and when it was there last."""

    key: str
    at_ms: int
    lasted_ms: int


class Acknowledgements:
    """By job; kept in one file, if there is a place for it."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        if path is not None and os.path.exists(path):
            with contextlib.suppress(OSError, FunkeError, ValueError, KeyError, TypeError):
                self._seen = {job: from_json(_Seen, each) for job, each in read_json(path).items()}

    def acknowledge(self, job_id: str, alarm: Alarm, now_ms: int) -> None:
        """Notes that a user has seen the alarm."""
        with self._lock:
            self._seen[job_id] = _Seen(alarm.key, now_ms, now_ms)
            self._write()

    def withdraw(self, job_id: str) -> None:
        """It calls for a person again."""
        with self._lock:
            if self._seen.pop(job_id, None) is not None:
                self._write()

    def time_of(self, job_id: str, alarm: Alarm, now_ms: int) -> int | None:
        """When an alarm was acknowledged; None when it was not, or was gone in between."""
        with self._lock:
            seen = self._seen.get(job_id)
            if seen is None or seen.key != alarm.key:
                return None
            if alarm.kind != "failed" and now_ms - seen.lasted_ms > _GONE_MS:
                return None
            if now_ms - seen.lasted_ms > _WRITE_MS:
                self._seen[job_id] = replace(seen, lasted_ms=now_ms)
                with contextlib.suppress(OSError):
                    self._write()
            return seen.at_ms

    def forget(self, job_ids: Collection[str]) -> None:
        """Keeps those of jobs that are known."""
        with self._lock:
            kept = {job: each for job, each in self._seen.items() if job in job_ids}
            if len(kept) != len(self._seen):
                self._seen = kept
                with contextlib.suppress(OSError):
                    self._write()

    def _write(self) -> None:
        if self._path is not None:
            write_json(self._path, {job: to_json(each) for job, each in self._seen.items()})
