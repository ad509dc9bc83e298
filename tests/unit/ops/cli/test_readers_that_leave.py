"""`funke … | head`: a command whose reader leaves ends without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "for number in range(100_000):\n    print('line', number)\n"


@pytest.mark.parametrize("arguments", [["--help"], ["list", "-a"], ["memory"], ["run", "job.py"], ["list", "--help"]])
def test_it_says_nothing(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "funke", *arguments]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()  # before a line is printed
        output = child.stderr.read()
    assert (output, child.returncode) == ("", 141)
