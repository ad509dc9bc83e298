"""Writes the view of a running job down, now and then, for those who look at the job from elsewhere or later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from funke.engine.jobs.notices import notice
from funke.engine.jobs.views.job_view import JobView

__all__ = ["ViewWriter"]

# So often by itself; and at the earliest so long after the last time, when something has happened.
_INTERVAL_S = 5.0
_PAUSE_S = 0.5
# A job and its subtasks do not begin to run at the very same moment: readers see both, and not one half a second later.
_TOGETHER_S = 0.05
# And the view of ten thousand subtasks, which takes seconds, so seldom that it takes a tenth of a core.
_PAUSE_SHARE = 9
# A disk that hangs must not keep the job from ending.
_LAST_S = 10.0


class ViewWriter:
    """Writes in a thread of its own: neither the job's pace nor its success depends on the disk."""

    def __init__(
        self,
        view: Callable[[], JobView],
        write: Callable[[JobView], None],
        interval_s: float = _INTERVAL_S,
        pause_s: float = _PAUSE_S,
    ) -> None:
        self._view = view
        self._write = write
        self._interval_s = interval_s
        self._pause_s = pause_s
        self._has_change = threading.Event()
        self._is_over = threading.Event()
        self._has_warned = False
        self._thread = threading.Thread(target=self._run, name="funke-view", daemon=True)

    def start(self) -> None:
        """Begins to write."""
        self._thread.start()

    def tell(self) -> None:
        """Something has happened: it is written soon."""
        self._has_change.set()

    def close(self) -> None:
        """Writes once more, and no more."""
        self._is_over.set()
        self._has_change.set()
        if self._thread.ident is not None:
            self._thread.join(_LAST_S)
        else:
            self._write_now()

    def _run(self) -> None:
        while not self._is_over.is_set():
            if self._has_change.wait(self._interval_s):
                self._is_over.wait(_TOGETHER_S)
            self._has_change.clear()
            if not self._is_over.is_set():
                began = time.monotonic()
                self._write_now()
                self._is_over.wait(max(self._pause_s, _PAUSE_SHARE * (time.monotonic() - began)))
        self._write_now()

    def _write_now(self) -> None:
        try:
            self._write(self._view())
        except Exception as error:  # whatever it is, the job does not depend on it
            # Reported once: the disk may stay full for long.
            if not self._has_warned:
                self._has_warned = True
                notice(f"warning: the job's view cannot be written down: {error}")
