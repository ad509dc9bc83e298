"""`funke sql` as somebody uses it, in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
ENDLESS = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '50');"


# Makes the standard input the terminal of its process, whose Ctrl-C it gets, and becomes the shell. A test runner in
# the background ignores Ctrl-C, and its children would inherit that.
START = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "funke", "sql", "-Dparallelism.default=1"])
"""


class Terminal:
    """A process whose terminal is this test."""

    def __init__(self, home: Path) -> None:
        self._own, other = pty.openpty()
        environment = {**os.environ, "PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm", "HOME": str(home)}
        command = [sys.executable, "-c", START]
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def await_text(self, text: str) -> None:
        """Reads until something is shown; what comes behind it is left for later."""
        end = time.monotonic() + 120
        while text not in self._seen:
            assert time.monotonic() < end, f"no {text!r} in {self._seen[-500:]!r}"
            if select.select([self._own], [], [], 1)[0]:
                self._seen += _CODES.sub("", os.read(self._own, 1 << 16).decode(errors="replace"))
        self._seen = self._seen.partition(text)[2]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


def test_a_query_is_cancelled_and_not_the_shell(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    try:
        terminal.await_text("Funke SQL>")
        terminal.type("VALUES (1, 'one');\r")
        terminal.await_text("1 row in set")
        terminal.type(f"{ENDLESS}\r")
        terminal.await_text("OK")
        terminal.type("SELECT COUNT(*) AS so_many FROM numbers;\r")
        terminal.await_text("| +U |")
        terminal.type("\x03")
        terminal.await_text("Query cancelled.")
        terminal.type("SET 'sql-client.execution.result-mode' = 'table';\r")
        terminal.await_text("OK")
        terminal.type("SELECT COUNT(*) AS so_many FROM numbers;\r")
        # The same row again and again, in its place.
        terminal.await_text("1 of 1 rows, ")
        terminal.await_text("1 of 1 rows, ")
        terminal.type("q")
        terminal.await_text("1 row in set")
        terminal.await_text("Query cancelled.")
        terminal.type("SHOW TABLES;\r")
        terminal.await_text("numbers")
        terminal.type("quit;\r")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.close()
    history = tmp_path / ".funke_sql_history"
    assert "VALUES (1, 'one');" in history.read_text() and history.stat().st_mode & 0o77 == 0
