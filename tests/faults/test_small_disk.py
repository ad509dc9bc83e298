"""The disk that `make soak` fills: what a process writes fails while it is full, whoever runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import small_disk
from tools.small_disk import SmallDisk

WRITING = """
import sys
for number, line in enumerate(sys.stdin):
    try:
        with open(f"{line.strip()}/{number}", "wb") as out:
            out.write(b"x" * 4096)
        print("written", flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
"""


@pytest.fixture
def writer() -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITING], stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="limits of other processes")
@pytest.mark.parametrize(("may_mount", "failure"), [(True, "No space left on device"), (False, "File too large")])
def test_it_is_full_for_a_while(
    tmp_path: Path, writer: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, may_mount: bool, failure: str
) -> None:
    def write() -> str:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.write(f"{tmp_path / 'disk'}\n")
        writer.stdin.flush()
        return writer.stdout.readline().strip()

    if not may_mount:
        monkeypatch.setattr(small_disk, "_run", lambda *command: False)
    disk = SmallDisk(tmp_path / "disk", lambda: [writer.pid])
    try:
        if disk.is_mounted != may_mount:
            pytest.skip("this user may not mount anything")
        assert write() == "written"
        disk.fill()
        assert write() == failure
        disk.free()
        assert write() == "written"
    finally:
        disk.close()
    assert not os.path.ismount(tmp_path / "disk")
