"""Where a slot's time goes: samples of its stack, which say at which user line a busy subtask spends most time."""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from funke.engine.runtime.monitoring.user_frames import user_line

__all__ = ["StackSamples"]

# 20 samples a second, of the last ten seconds. One takes about 20 µs and is taken while a subtask works only.
_PAUSE_S = 0.05
_KEPT = 200
_FEWEST = 10


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
        """Takes a sample, if a subtask is running."""
        worker = self._worker()
        frame = sys._current_frames().get(self._thread_id) if worker is not None else None
        if frame is not None:
            self._samples.append((worker, user_line(frame)))

    def busiest_line(self, worker: Any) -> dict[str, Any]:
        """The user line at which a busy subtask spends most time, and the share of its time."""
        seen = [line for who, line in list(self._samples) if who is worker]
        if len(seen) < _FEWEST:
            return {}
        line, times = Counter(seen).most_common(1)[0]
        return {"busiestLine": line, "busiestLineShare": times / len(seen)} if line else {}
