"""Forks a slot from Spark's Python worker, on executors: it has loaded what a slot loads.

A new interpreter takes a second of CPU time until it is a slot, most of it for imports from the archive that Spark has
shipped. The worker has done the same imports to run the task that starts the slot.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback

from funke.engine.runtime.slots.slot_process import main

__all__ = ["fork_from_worker"]

_STDERR = 2
_forked: set[int] = set()


def fork_from_worker(launch_file: str, listeners: tuple[int, ...]) -> int | None:
    """The process of a new slot; None where this process is no worker, or has threads, which a child lacks."""
    if "pyspark.worker" not in sys.modules or threading.active_count() > 1:
        return None
    for ended in list(_forked):
        _reap(ended)
    pid = os.fork()
    if pid:
        _forked.add(pid)
        return pid
    try:
        _let_go({_STDERR, *listeners})
        sys.modules["pyspark.taskcontext"].TaskContext._setTaskContext(None)
        _name_paths_in_full()
        os.setsid()
        main(launch_file, listeners)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _reap(pid: int) -> None:
    """Lets the system forget a process if it has ended."""
    with contextlib.suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            return
    _forked.discard(pid)


def _name_paths_in_full() -> None:
    """Spark's files are in `.` for a worker, and a slot may have another working folder."""
    searched = [getattr(module, "__path__", None) for module in list(sys.modules.values())]
    for paths in (sys.path, *(path for path in searched if isinstance(path, list))):
        paths[:] = [os.path.abspath(path) if path else path for path in paths]


def _let_go(kept: set[int]) -> None:
    """Spark must notice when its worker hangs up; objects of the worker still hold the numbers of descriptors."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in {int(name) for name in os.listdir("/dev/fd")} - {nothing, *kept}:
        os.dup2(nothing, descriptor, inheritable=False)
