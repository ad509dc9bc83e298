"""Machine code that this user's processes make for each other: where it is kept, and how it is made meanwhile.

A user who could write there could run code as this user: the folder, and every folder above, must be one that
other users cannot change.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping

from funke.engine.errors import UntrustedError
from funke.engine.trust.private_files import open_private_folder

__all__ = ["alone_in", "code_folder", "make_in_background"]


def code_folder() -> str | None:
    """The private folder for machine code, made if need be; None where there can be none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):
        return None
    try:
        folder = open_private_folder(os.path.join(base, "funke"))
        _require_guarded(os.path.realpath(base))
        return folder
    except (OSError, UntrustedError):
        return None


def _require_guarded(folder: str) -> None:
    """A user who may rename entries of a parent folder could replace the code that was checked."""
    while True:
        status = os.stat(folder)
        is_open = stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (os.geteuid(), 0) or is_open:
            raise UntrustedError(f"others may change what is in '{folder}'")
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


@contextlib.contextmanager
def alone_in(folder: str, lock_name: str) -> Iterator[bool]:
    """Whether no other process is there; until it ends, none will be."""
    lock = os.open(os.path.join(folder, lock_name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def make_in_background(module: str, variables: Mapping[str, str] = os.environ) -> list[subprocess.Popen[bytes]]:
    """Runs a module in a process on its own, which says nothing; nothing is returned if it cannot be started."""
    with contextlib.suppress(OSError, RuntimeError):
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**variables, "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path if path)},
            start_new_session=True,
        )
        return [process]
    return []
