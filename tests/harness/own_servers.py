"""What the servers that the tests start for themselves have in common."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_SET_DEATH_SIGNAL = 1


def own_account(folder: Path) -> dict[str, Any]:
    """Databases refuse to run as root: then they run as nobody, to whom their folder is given."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started_server(
    command: Sequence[str], log: Path, account: dict[str, Any], end: signal.Signals
) -> Iterator[subprocess.Popen[bytes]]:
    """A server's process, which is ended with the block, and with the tests' own process."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd="/",
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - nothing but a system call
            start_new_session=True,
            **account,
        )
    try:
        yield process
    finally:
        process.send_signal(end)
        process.wait(20)


def _end_with_parent() -> None:
    _expect_signal(signal.SIGQUIT)


def killed_with_parent() -> None:
    """For a process that is about to start: the system kills it when the thread that starts it is gone."""
    _expect_signal(signal.SIGKILL)


def _expect_signal(number: signal.Signals) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, number)


def await_answer(
    ask: Callable[[], Any], rejection: type[Exception], process: subprocess.Popen[bytes], log: Path, limit_s: float
) -> None:
    """Asks a server until it does not reject any more."""
    end = time.monotonic() + limit_s
    while True:
        try:
            ask()
            return
        except rejection:
            assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
            time.sleep(0.05)
