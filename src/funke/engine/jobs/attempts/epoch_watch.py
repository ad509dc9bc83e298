"""Lets checkpoints expire while the thread that runs the job waits for its workers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

__all__ = ["EpochWatch"]

_MOST_OFTEN_S, _LEAST_OFTEN_S = 0.05, 1.0


class EpochWatch:
    """Calls `expire` again and again during a wait; when it raises, ends the wait with `stop` and raises the same."""

    def __init__(self, expire: Callable[[], None], stop: Callable[[], None], timeout_ms: int) -> None:
        self._expire = expire
        self._stop = stop
        self._pause_s = min(_LEAST_OFTEN_S, max(_MOST_OFTEN_S, timeout_ms / 10_000))
        self._failure: Exception | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """The wait. After it no other thread uses what `expire` uses."""
        is_over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(is_over,), name="funke-epoch-watch", daemon=True)
        thread.start()
        try:
            yield
        except Exception as consequence:
            is_over.set()
            thread.join()
            if self._failure is not None:
                raise self._failure from consequence
            raise
        is_over.set()
        thread.join()
        if self._failure is not None:
            raise self._failure

    def _watch(self, is_over: threading.Event) -> None:
        while not is_over.wait(self._pause_s):
            try:
                self._expire()
            except Exception as failure:
                self._failure = failure
                with contextlib.suppress(Exception):  # what is to be stopped may have ended
                    self._stop()
                return
