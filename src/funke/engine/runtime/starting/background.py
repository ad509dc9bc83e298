"""Starts the making of machine code when a program ends whose job went well: then it takes nothing from a job."""

from __future__ import annotations

import atexit
import functools
import os

from funke.engine.kernels.machine_code import compile_wanted
from funke.engine.trust.code_folder import make_in_background

__all__ = ["build_at_exit", "note_success"]

_successes: list[int] = []
_BUILDER = "funke.engine.runtime.starting.archive_build"


def note_success() -> None:
    """A job of this process has finished: who fails is about to be changed or thrown away, and waits for nothing."""
    _successes[:] = [os.getpid()]
    _compile_at_exit()


@functools.cache
def build_at_exit() -> None:
    """An archive of classes, asked for once or many times: one process is started when this one ends."""
    atexit.register(_start_building, os.getpid())


@functools.cache
def _compile_at_exit() -> None:
    """Kernels that slots of this process have asked for."""
    atexit.register(_start_compiling, os.getpid())


def _start_building(pid: int) -> None:
    if _has_succeeded(pid):
        make_in_background(_BUILDER)


def _start_compiling(pid: int) -> None:
    if _has_succeeded(pid):
        compile_wanted()


def _has_succeeded(pid: int) -> bool:
    """Whether this is the driver itself, not a fork of it, and a job of it went well."""
    return os.getpid() == pid and _successes == [pid]
