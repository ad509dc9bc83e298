"""Folders and files that a stranger has made, or may look into, are refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from funke.engine.errors import StateError, UntrustedError
from funke.engine.runtime.snapshot_files import fetch_file, read_bytes
from funke.engine.trust.private_files import (
    make_private_folder,
    open_own_file,
    open_private_folder,
    require_private_folder,
    run_folder,
)
from tests.harness.stranger import give_away


def test_the_run_folder_is_for_this_user_alone() -> None:
    folder = run_folder()
    assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700
    assert run_folder() == folder
    inside = make_private_folder("slot-", folder)
    assert os.path.dirname(inside) == folder
    os.rmdir(inside)


def test_the_run_folder_goes_with_its_process_and_not_with_a_fork_of_it() -> None:
    program = (
        "import os, sys\n"
        "from funke.engine.trust.private_files import run_folder\n"
        "folder = run_folder()\n"
        "if os.fork() == 0: sys.exit(0)\n"
        "os.wait()\n"
        "print(folder, os.path.isdir(folder))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    folder, was_there = ended.stdout.split()
    assert was_there == "True"
    assert not os.path.exists(folder)


def test_a_squatted_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squatted = tmp_path / "squatted"
    squatted.mkdir(mode=0o700)
    give_away(squatted, monkeypatch)
    with pytest.raises(UntrustedError, match="belongs to"):
        open_private_folder(str(squatted))
    with pytest.raises(UntrustedError, match="belongs to"):
        make_private_folder("slot-", str(squatted))


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(own)
    with pytest.raises(UntrustedError, match="is not a folder"):
        open_private_folder(str(link))


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    with pytest.raises(UntrustedError, match="chmod 700"):
        require_private_folder(str(shared))


def test_files_of_a_stranger_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shared" / "000001.sst"
    path.parent.mkdir()
    path.write_bytes(b"state")
    target = tmp_path / "restored" / "000001.sst"
    fetch_file(str(path), str(target), may_link=True)
    assert read_bytes(str(path)) == target.read_bytes() == b"state"
    target.unlink()
    give_away(path, monkeypatch)
    with pytest.raises(UntrustedError, match="make it yours"):
        open_own_file(str(path))
    with pytest.raises(StateError, match="belongs to"):
        read_bytes(str(path))
    for may_link in (True, False):
        with pytest.raises(StateError, match="belongs to"):
            fetch_file(str(path), str(target), may_link)
        assert not target.exists()
