"""What ties processes to each other: who ends with whom, who inherits orphans. Only Linux knows such ties."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

__all__ = ["adopt_orphans", "children_of", "end_with_parent", "is_alive", "name_process"]

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
# Looked up before any fork: a child must not load anything.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def is_alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and belongs to another user
        pass
    return True


def end_with_parent(parent: int) -> None:
    """The system kills this process when the thread that forked it ends; at once if it has ended already."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> bool:
    """Makes this process the parent of all its descendants whose own parent ends; False where that is not possible."""
    return _prctl is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def name_process(name: str) -> None:
    """What `ps` and `top` show; at most fifteen letters."""
    if _prctl is not None:
        _prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def children_of(parent: int) -> list[int]:
    """The living processes whose parent is the given one."""
    children = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
                if int(fields[1]) == parent and fields[0] != b"Z":
                    children.append(int(name))
    return children
