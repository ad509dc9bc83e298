"""Run folders of killed processes are removed; those of living ones, of others and of anything else are not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from funke.engine.trust.run_folders import remove_abandoned
from tests.harness.stranger import give_away

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")

# Says where its run folder is, and waits; with a word, for a child which has inherited the lock and waits as well.
OWNER = """
import subprocess, sys, time
from funke.engine.trust.run_folders import run_folder, run_folder_lock
wait = [sys.executable, "-c", "print(1, flush=True); import time; time.sleep(600)"]
child = subprocess.Popen(wait, pass_fds=[run_folder_lock()], stdout=subprocess.PIPE) if sys.argv[1:] else None
if child is not None: child.stdout.readline()
print(run_folder(), child.pid if child else 0, flush=True)
time.sleep(600)
"""

Start = Callable[..., tuple[subprocess.Popen[str], Path, int]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> tuple[subprocess.Popen[str], Path, int]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        started.append(process)
        assert process.stdout is not None
        folder, child = process.stdout.readline().split()
        return process, Path(folder), int(child)

    yield begin
    for process in started:
        process.kill()
        process.wait()


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(start: Start, tmp_path: Path) -> None:
    killed, abandoned, _ = start()
    _, kept, _ = start()
    (abandoned / "slot-1").mkdir()
    killed.kill()
    killed.wait()
    assert remove_abandoned(str(tmp_path)) == [str(abandoned)]
    assert not abandoned.exists() and kept.exists()


def test_it_stays_while_a_process_lives_in_it(start: Start, tmp_path: Path) -> None:
    killed, folder, child = start("with a child")
    killed.kill()
    killed.wait()
    assert remove_abandoned(str(tmp_path)) == [] and folder.exists()
    os.kill(child, signal.SIGKILL)
    while Path(f"/proc/{child}").exists() and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
        pass
    assert remove_abandoned(str(tmp_path)) == [str(folder)]


def test_what_is_no_abandoned_folder_of_this_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = {"pid": 2**22 + 1, "start": 1, "host": os.uname().nodename}

    def folder(name: str, owner: object, mode: int = 0o700) -> Path:
        path = tmp_path / name
        path.mkdir(mode=mode)
        path.chmod(mode)
        (path / "owner.json").write_text(owner if isinstance(owner, str) else json.dumps(owner))
        return path

    (tmp_path / "funke-new").mkdir(mode=0o700)
    (tmp_path / "funke-file").touch()
    folder("funke-open", dead, 0o755)
    folder("funke-elsewhere", {**dead, "host": "another"})
    folder("funke-odd", "no JSON")
    folder("funke-alive", {**dead, "pid": os.getpid(), "start": _start_of_this_process()})
    target = folder("other-name", dead)
    (tmp_path / "funke-link").symlink_to(target)
    before = sorted(os.listdir(tmp_path))
    assert remove_abandoned(str(tmp_path)) == [] and sorted(os.listdir(tmp_path)) == before
    # The number of a dead process may belong to another one now.
    reused = folder("funke-reused", {**dead, "pid": os.getpid()})
    assert remove_abandoned(str(tmp_path)) == [str(reused)]
    stranger = folder("funke-stranger", dead)
    give_away(stranger, monkeypatch)
    assert remove_abandoned(str(tmp_path)) == [] and stranger.exists()


def _start_of_this_process() -> int:
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


WATCHED = """
import time
from funke.engine.trust.run_folders import run_folder, watch_run_folder
watch_run_folder()
print(run_folder(), flush=True)
time.sleep(600)
"""


def test_a_watched_run_folder_goes_with_its_process_also_when_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "owner.json").exists()
        process.kill()
    end = time.monotonic() + 60
    while folder.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
