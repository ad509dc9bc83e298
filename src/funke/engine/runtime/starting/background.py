"""Starts the making of an archive when a program ends whose job went well: then it takes nothing from a job."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import subprocess
import sys

__all__ = ["build_at_exit", "note_success"]

_successes: list[int] = []


def note_success() -> None:
    """A job of this process has finished: who fails is about to be changed or thrown away, and waits for nothing."""
    _successes[:] = [os.getpid()]


@functools.cache
def build_at_exit() -> None:
    """Asked for once or many times: one process is started, on its own, when this one ends."""
    atexit.register(_start_building, os.getpid())


def _start_building(pid: int) -> None:
    if os.getpid() != pid or _successes != [pid]:  # a fork of the driver, or a program that has failed
        return
    with contextlib.suppress(OSError, RuntimeError):
        subprocess.Popen(
            [sys.executable, "-m", "funke.engine.runtime.starting.archive_build"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)},
            start_new_session=True,
        )
