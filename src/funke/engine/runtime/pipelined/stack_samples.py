"""Where a slot's time goes: samples of its stack, which say at which line of the user's a busy subtask mostly is."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import threading
from collections import Counter, deque
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["StackSamples", "user_line"]

# 20 samples a second, of the last ten seconds. One takes about 20 µs and is taken while a subtask works only.
_PAUSE_S = 0.05
_KEPT = 200
_FEWEST = 10
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + os.sep
_OTHERS_FOLDERS = tuple(
    folder + os.sep
    for folder in {*site.getsitepackages(), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    if folder
)


class StackSamples:
    """Looks now and then, from a thread of its own, what the thread that has started this does."""

    def __init__(self, worker: Callable[[], Any]) -> None:
        """`worker` tells who works at the moment, or None."""
        self._worker = worker
        self._thread_id = threading.get_ident()
        self._samples: deque[tuple[Any, str]] = deque(maxlen=_KEPT)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="funke-samples", daemon=True)

    def start(self) -> None:
        """Begins to look at the thread that calls this."""
        self._thread_id = threading.get_ident()
        self._thread.start()

    def close(self) -> None:
        """Looks no more."""
        self._is_over.set()

    def _run(self) -> None:
        while not self._is_over.wait(_PAUSE_S):
            self.look()

    def look(self) -> None:
        """Takes a sample, if somebody works."""
        worker = self._worker()
        frame = sys._current_frames().get(self._thread_id) if worker is not None else None
        if frame is not None:
            self._samples.append((worker, user_line(frame)))

    def busiest_line(self, worker: Any) -> dict[str, Any]:
        """Of one who works: the line of the user's at which it mostly is, and how much of its time."""
        seen = [line for who, line in list(self._samples) if who is worker]
        if len(seen) < _FEWEST:
            return {}
        line, times = Counter(seen).most_common(1)[0]
        return {"busiestLine": line, "busiestLineShare": times / len(seen)} if line else {}


def user_line(frame: FrameType | None) -> str:
    """The innermost line of a stack that is the user's own, neither a library's nor ours; empty if there is none."""
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        is_foreign = path.startswith((_OWN_FOLDER, *_OTHERS_FOLDERS)) or frame.f_code.co_filename.startswith("<")
        if not is_foreign:
            return f"{os.path.basename(path)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
