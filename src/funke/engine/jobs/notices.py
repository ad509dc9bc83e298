"""Lines on standard error about what happens to a job."""

from __future__ import annotations

import contextlib
import logging
import sys

from funke.engine.runtime.monitoring.worker_logs import driver_log

__all__ = ["notice"]


def notice(text: str) -> None:
    """Tells the user, if that is possible: a job does not fail because its log is on a disk that is full."""
    with contextlib.suppress(OSError, ValueError):
        if not driver_log.is_json:
            sys.stderr.write(f"{text}\n")
            return
        level = logging.WARNING if text.startswith("warning: ") else logging.INFO
        driver_log.write(logging.LogRecord("funke", level, "", 0, text.removeprefix("warning: "), None, None))
