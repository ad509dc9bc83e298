"""A disk that can be filled: a small one of its own where it may be mounted, else a limit on what processes write."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["SmallDisk"]

_SIZE = "96m"
_CHUNK = b"\0" * (1 << 20)


class SmallDisk:
    """The folder `path`, on a file system in memory if this user may mount one.

    Otherwise no file of the processes that `writers` tells may grow while the disk counts as full.
    """

    def __init__(self, path: Path, writers: Callable[[], Iterable[int]]) -> None:
        self.path = path
        self._writers = writers
        self._limited: dict[int, tuple[int, int]] = {}
        path.mkdir(parents=True, exist_ok=True)
        self.is_mounted = os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(path))

    def fill(self) -> None:
        """Leaves no room."""
        if self.is_mounted:
            with contextlib.suppress(OSError), (self.path / "filling").open("ab", 0) as filling:
                while filling.write(_CHUNK):
                    pass
            return
        for pid in self._writers():
            with contextlib.suppress(OSError):
                self._limited[pid] = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, self._limited[pid][1]))

    def free(self) -> None:
        """Gives the room back."""
        (self.path / "filling").unlink(missing_ok=True)
        for pid, limits in self._limited.items():
            with contextlib.suppress(OSError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        self._limited.clear()

    def close(self) -> None:
        """Takes the disk away, with all that is on it."""
        if self.is_mounted:
            self.is_mounted = not (_run("umount", str(self.path)) or _run("umount", "-l", str(self.path)))


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
