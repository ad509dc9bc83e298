"""The short form of `make soak`: a job that is disturbed at random writes what it must and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]

SOAK = Path(__file__).resolve().parents[2] / "tools" / "soak.py"


KINDS = "kill,pause,savepoint,restore,disk,ask"


@pytest.mark.parametrize(("job", "seconds"), [("stream", 15), ("sql", 10)])
def test_nothing_is_lost_or_written_twice(tmp_path: Path, job: str, seconds: int) -> None:
    command = [sys.executable, str(SOAK), "--jobs", job, "--seconds", str(seconds), "--seed", "7", "--kinds", KINDS]
    command += ["--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "duplicates 0\nlosses 0\nunanswered 0\nleft over 0" in done.stdout
    happened = re.search(r"happened: (.*)", done.stdout)
    assert happened is not None and happened.group(1) != "none"
