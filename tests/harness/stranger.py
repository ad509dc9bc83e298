"""Another user of the machine, played for real where the tests run as root, else by forgetting who we are."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from funke.engine.trust import private_files

IS_ROOT = os.geteuid() == 0
# Only root can act as somebody else.
as_root_only = pytest.mark.skipif(not IS_ROOT, reason="only root can start processes of another user")


def stranger_uid() -> int:
    return pwd.getpwnam("nobody").pw_uid


def give_away(path: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a file or folder belong to somebody else."""
    if IS_ROOT:
        os.chown(path, stranger_uid(), -1, follow_symlinks=False)
    else:
        someone_else = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: someone_else)
        monkeypatch.setattr(private_files, "_own_id_in", lambda folder: someone_else)


@contextlib.contextmanager
def stranger_doing(action: Callable[[Callable[[str], None]], None]) -> Iterator[IO[str]]:
    """Runs an action in a process of the stranger's; yields what it says, line by line."""
    reading, writing = os.pipe()
    # A fork: the stranger may not be allowed to read the interpreter's files.
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(stranger_uid())
            os.setuid(stranger_uid())
            action(lambda text: os.write(writing, f"{text}\n".encode()) and None)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as said:
        yield said
        said.read()
    os.waitpid(pid, 0)
