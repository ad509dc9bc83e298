"""`funke sql` as somebody uses it, in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
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
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 150, 0, 0))
        environment = {
            # The terminal has a size of its own.
            **{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")},
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "TERM": "xterm",
            "HOME": str(home),
            "FUNKE_HOME": str(home),
        }
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

    def await_match(self, pattern: str) -> str:
        """Reads until something fits a pattern; returns its group."""
        while (match := re.search(pattern, self._seen)) is None:
            assert select.select([self._own], [], [], 60)[0], f"no {pattern!r} in {self._seen[-500:]!r}"
            self._seen += _CODES.sub("", os.read(self._own, 1 << 16).decode(errors="replace"))
        return match[1]

    def run(self, text: str, output: str) -> None:
        """Types a statement and waits for what it shows."""
        self.type(text + "\r")
        self.await_text(output)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    try:
        terminal.await_text("Funke SQL>")
        yield terminal
    finally:
        terminal.close()


def test_a_query_is_cancelled_and_not_the_shell(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("VALUES (1, 'one');", "Spark starts; this takes some seconds.")
    terminal.await_text("| op | EXPR$0 | EXPR$1 |")
    terminal.await_text("| +I |      1 | one    |")
    terminal.await_text("1 row in set (")
    terminal.run(ENDLESS, "OK")
    terminal.run("SELECT COUNT(*) AS so_many FROM numbers;", "| +U |")
    terminal.type("\x03")
    terminal.await_text("Query terminated, received a total of ")
    terminal.await_text("seconds)")
    terminal.run("SET 'sql-client.execution.result-mode' = 'table';", "OK")
    terminal.run("SELECT COUNT(*) AS so_many FROM numbers;", "1 of 1 rows, ")
    # The same row again and again, in its place.
    terminal.await_text("1 of 1 rows, ")
    terminal.type("q")
    terminal.await_text("1 row in set")
    terminal.await_text("Query cancelled.")
    terminal.run("SHOW TABLES;", "| numbers    |")
    terminal.type("quit;\r")
    assert terminal.process.wait(60) == 0
    history = tmp_path / ".funke_sql_history"
    assert "VALUES (1, 'one');" in history.read_text() and history.stat().st_mode & 0o77 == 0


def test_what_is_shown_and_how(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("HELP;", "Prints the available commands.")
    terminal.run("CREATE TABLE wide (a INT) WITH ('connector' = 'print');", "OK")
    # Names after TABLE are suggested; a tab takes the first.
    terminal.type("SHOW CREATE TABLE wi")
    terminal.await_text("wide")
    terminal.run("\t;", "'connector' = 'print'")
    terminal.run(f"SELECT '{'x' * 180}' AS long_text, 7 AS n;", "+----+")
    terminal.await_text(f"| +I | {'x' * 136}… | 7 |")
    terminal.run("\\x", "below each other")
    terminal.run("SELECT 7 AS n, 'a' AS b;", "n  | 7")
    terminal.run("\\x", "side by side")
    target = tmp_path / "rows.json"
    terminal.run(f"SET 'funke.sql.format' = 'json'; SET 'funke.sql.output-file' = '{target}';", "OK")
    terminal.await_text("OK")
    terminal.run("SELECT 7 AS n, 'a' AS b;", f"1 row written to {target}")
    assert target.read_text() == '{"op": "+I", "n": 7, "b": "a"}\n'
    terminal.run("RESET;", "OK")
    # A long list is paged, where there is a pager.
    terminal.run("SHOW FUNCTIONS;", "| function name")
    if shutil.which("less"):
        terminal.await_text(":")
        terminal.type("q")
    terminal.await_text("rows in set (")
    terminal.run("SELEC 1;", "Did you mean 'SELECT'?")
    terminal.run("CLEAR;", "Funke SQL>")
    terminal.type("QUIT;\r")
    assert terminal.process.wait(60) == 0


def test_jobs_of_the_shell(terminal: Terminal) -> None:
    terminal.run(ENDLESS, "OK")
    terminal.run("CREATE TABLE shown (n INT) WITH ('connector' = 'print', 'print-identifier' = 'row');", "OK")
    terminal.run("INSERT INTO shown SELECT n FROM numbers;", "Job has been submitted with JobID ")
    terminal.await_text("row> +I[")
    # What the job prints stands above the line that is typed, which is drawn again below it.
    terminal.type("SHOW JO")
    terminal.await_text("row> +I[")
    terminal.await_text("SHOW JO")
    terminal.run("BS;", "INSERT INTO shown: SELECT n FROM numbers | RUNNING")
    terminal.run("quit;", "leave to the service (l), wait (w), cancel (c), or stay (s, default)? ")
    terminal.run("l", "no service runs for this folder of jobs; `funke start-cluster` starts one")
    terminal.run("quit;", "or stay (s, default)? ")
    terminal.run("s", "Funke SQL>")
    terminal.type("SHOW JOBS;\r")
    terminal.await_text("| job id")
    job_id = terminal.await_match(r"\| ([0-9a-f]{32}) +\| INSERT")
    terminal.run(f"DESCRIBE JOB '{job_id}';", "RUNNING")
    terminal.run(f"STOP JOB '{job_id}' WITH DRAIN;", "WITH DRAIN could only be used after WITH SAVEPOINT.")
    terminal.run(f"STOP JOB '{job_id}';", "OK")
    terminal.run(f"DESCRIBE JOB '{job_id}';", "CANCELED")
    # The end of the shell ends its jobs.
    terminal.run("INSERT INTO shown SELECT n FROM numbers;", "Job has been submitted with JobID ")
    terminal.await_text("Funke SQL>")
    terminal.type("\x04")
    terminal.await_text("or stay (s, default)? ")
    terminal.type("c\r")
    assert terminal.process.wait(60) == 0
