"""Lines on standard error about what happens to a job."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["notice"]


def notice(text: str) -> None:
    """Tells the user, if that is possible: a job does not fail because its log is on a disk that is full."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
