"""The run folder of a process, and the run folders that killed processes left behind.

A run folder has a file that names its owner, and that the owner keeps locked; processes that live in the same folder
inherit the lock. A run folder is not removed while a process holds the lock.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from typing import NamedTuple

from funke.engine.errors import UntrustedError
from funke.engine.trust.private_files import make_private_folder, require_private_folder

__all__ = ["remove_abandoned", "remove_abandoned_once", "run_folder", "run_folder_lock", "watch_run_folder"]

_PREFIX = "funke-"
_OWNER = "owner.json"
_watching: list[subprocess.Popen[bytes]] = []


class _RunFolder(NamedTuple):
    path: str
    lock: int


def run_folder() -> str:
    """The private folder of this process, made on first use and removed when the process ends."""
    return _run_folder_of(os.getpid()).path


def run_folder_lock() -> int:
    """The open file that keeps the run folder locked: who lives in the folder too inherits it."""
    return _run_folder_of(os.getpid()).lock


@functools.cache
def _run_folder_of(pid: int) -> _RunFolder:
    folder = make_private_folder(_PREFIX)
    own = _RunFolder(folder, _put_owner(folder))
    atexit.register(_discard, folder, pid)
    return own


def _put_owner(folder: str) -> int:
    path = os.path.join(folder, _OWNER)
    file = os.open(f"{path}.part", os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    # Locked before it has its name: at no moment the folder looks abandoned.
    fcntl.flock(file, fcntl.LOCK_EX)
    owner = {"pid": os.getpid(), "start": _start_of(os.getpid()), "host": socket.gethostname()}
    os.write(file, json.dumps(owner).encode())
    os.rename(f"{path}.part", path)
    return file


def _discard(folder: str, pid: int) -> None:
    """Removes a run folder, unless this is a fork of the process that it belongs to."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def watch_run_folder() -> None:
    """Removes the run folder also when this process is killed: a shell waits for that, where no fork server does."""
    order = 'read _; rm -rf -- "$1"'
    _watching.append(
        subprocess.Popen(
            ["/bin/sh", "-c", order, "funke-run-folder", run_folder()],
            stdin=subprocess.PIPE,  # it is never written to: its end says that this process has gone
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    )


@functools.cache
def remove_abandoned_once() -> None:
    """Removes what killed processes have left, beside the work and once in each process."""
    threading.Thread(target=remove_abandoned, name="funke-abandoned", daemon=True).start()


def remove_abandoned(parent: str | None = None) -> list[str]:
    """Removes this user's run folders whose owners are dead, and returns their paths; others are left alone."""
    parent = parent or tempfile.gettempdir()
    removed = []
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        if name.startswith(_PREFIX) and _is_removed(folder):
            removed.append(folder)
    return removed


def _is_removed(folder: str) -> bool:
    try:
        # Every user may write to the system's temporary folder.
        require_private_folder(folder)
        file = os.open(os.path.join(folder, _OWNER), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, UntrustedError):  # no run folder, or one that was only just made
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_owner_alive(json.loads(os.read(file, 4096))):
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    finally:
        os.close(file)


def _is_owner_alive(owner: dict[str, object]) -> bool:
    """By the record in it; on another host that cannot be checked."""
    if owner["host"] != socket.gethostname():
        return True
    start = _start_of(int(str(owner["pid"])))
    return start is not None and start == owner["start"]


def _start_of(pid: int) -> int | None:
    """When a process was started, in the system's ticks: its number may belong to another one later."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[19])
    return None
