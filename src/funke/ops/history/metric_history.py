"""An hour of the main metrics of each job, in bounded memory and on disk: a service that starts anew still has it."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import threading
from collections import deque
from collections.abc import Collection

from funke.engine.errors import FunkeError
from funke.engine.trust.private_files import open_own_file, open_private_folder, private_opener
from funke.ops.history.points import SERIES, Point

__all__ = ["HOUR_MS", "INTERVAL_MS", "MetricHistory"]

INTERVAL_MS = 10_000
HOUR_MS = 3_600_000
_MOST_POINTS = HOUR_MS // INTERVAL_MS
_RECORD = struct.Struct(f"<q{len(SERIES)}d")
_NAME = re.compile(r"(?P<job>[0-9a-f]{32})\.v1")


class MetricHistory:
    """Points by job; a file holds at most twice an hour's, 70 kB."""

    def __init__(self, folder: str | None = None) -> None:
        """Without a folder nothing is kept on disk."""
        self._folder = folder
        self._lock = threading.Lock()
        # Of jobs that run; the others are read when they are asked for.
        self._points: dict[str, deque[Point]] = {}
        self._written: dict[str, int] = {}

    def add(self, job_id: str, point: Point) -> None:
        """One more look at a job that runs; what was seen before already is left out."""
        with self._lock:
            points = self._points.get(job_id)
            if points is None:
                points = self._points[job_id] = deque(self._read(job_id), maxlen=_MOST_POINTS)
            if points and point.at_ms < points[-1].at_ms + INTERVAL_MS // 2:
                return
            points.append(point)
            # A full disk costs no more than what is kept on it.
            with contextlib.suppress(OSError, FunkeError):
                self._write(job_id, point, points)

    def of(self, job_id: str) -> tuple[Point, ...]:
        """The points of a job, oldest first."""
        with self._lock:
            points = self._points.get(job_id)
            return tuple(points if points is not None else self._read(job_id))

    def forget(self, running: Collection[str], job_ids: Collection[str]) -> None:
        """Keeps in memory what runs, and on disk what is known."""
        with self._lock:
            self._points = {job: points for job, points in self._points.items() if job in running}
            self._written = {job: number for job, number in self._written.items() if job in running}
            if self._folder is None or not os.path.isdir(self._folder):
                return
            for name in os.listdir(self._folder):
                match = _NAME.fullmatch(name)
                if match is not None and match["job"] not in job_ids:
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(self._folder, name))

    def _write(self, job_id: str, point: Point, points: Collection[Point]) -> None:
        if self._folder is None:
            return
        open_private_folder(self._folder)
        path = self._path(job_id)
        written = self._written.get(job_id, 2 * _MOST_POINTS)
        if written >= 2 * _MOST_POINTS:
            with open(f"{path}.part", "wb", opener=private_opener) as out:
                out.write(b"".join(_packed(each) for each in points))
            os.replace(f"{path}.part", path)
            self._written[job_id] = len(points)
            return
        with open(path, "ab", opener=private_opener) as out:
            out.write(_packed(point))
        self._written[job_id] = written + 1

    def _read(self, job_id: str) -> list[Point]:
        if self._folder is None:
            return []
        with contextlib.suppress(OSError, FunkeError), open_own_file(self._path(job_id)) as file:
            content = file.read(2 * _MOST_POINTS * _RECORD.size)
            whole = content[: len(content) // _RECORD.size * _RECORD.size]
            return [Point(at_ms, tuple(values)) for at_ms, *values in _RECORD.iter_unpack(whole)][-_MOST_POINTS:]
        return []

    def _path(self, job_id: str) -> str:
        return os.path.join(self._folder or "", f"{job_id}.v1")


def _packed(point: Point) -> bytes:
    return _RECORD.pack(point.at_ms, *point.values)
