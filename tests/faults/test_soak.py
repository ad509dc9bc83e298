"""The short form of `make soak`: a job whose processes are killed at random ends with exactly the right output."""

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


def test_nothing_is_lost_or_written_twice(tmp_path: Path) -> None:
    command = [sys.executable, str(SOAK), "--seconds", "35", "--seed", "7", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "duplicates 0\nlosses 0" in done.stdout
    kills = re.search(r"kills (\d+)", done.stdout)
    assert kills is not None and int(kills.group(1)) >= 2
