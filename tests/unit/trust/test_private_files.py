"""Folders and files that a stranger has made, or may look into, are rejected."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from funke.engine.connectors.named_file import open_to_write
from funke.engine.errors import StateError, UntrustedError
from funke.engine.jobs.checkpoints.savepoint_files import write_snapshot
from funke.engine.jobs.checkpoints.savepoints import _savepoint_folder
from funke.engine.runtime.snapshots.snapshot_files import (
    NativeFile,
    copy_file,
    create_folder,
    fetch_native,
    read_bytes,
    write_atomically,
)
from funke.engine.trust.private_files import (
    make_private_folder,
    open_own_file,
    open_private_folder,
    private_opener,
    require_private_folder,
)
from funke.engine.trust.run_folders import run_folder
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
        "from funke.engine.trust.run_folders import run_folder\n"
        "folder = run_folder()\n"
        "if os.fork() == 0: sys.exit(0)\n"
        "os.wait()\n"
        "print(folder, os.path.isdir(folder))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    folder, was_there = ended.stdout.split()
    assert was_there == "True"
    assert not os.path.exists(folder)


def test_a_squatted_folder_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squatted = tmp_path / "squatted"
    squatted.mkdir(mode=0o700)
    give_away(squatted, monkeypatch)
    with pytest.raises(UntrustedError, match="belongs to"):
        open_private_folder(str(squatted))
    with pytest.raises(UntrustedError, match="belongs to"):
        make_private_folder("slot-", str(squatted))


def test_a_link_to_a_folder_is_rejected(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(own)
    with pytest.raises(UntrustedError, match="is not a folder"):
        open_private_folder(str(link))


def test_a_folder_that_others_may_enter_is_rejected(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    with pytest.raises(UntrustedError, match="chmod 700"):
        require_private_folder(str(shared))


def test_files_of_a_stranger_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "restored" / "000001.sst"
    # What checkpoints share is linked, the rest is copied.
    for folder in ("shared", "chk-1"):
        path = tmp_path / folder / "000001.sst"
        path.parent.mkdir()
        path.write_bytes(b"state")
        file = NativeFile(str(path), "000001.sst", 5)
        fetch_native(file, str(target))
        assert read_bytes(str(path)) == target.read_bytes() == b"state"
        target.unlink()
        give_away(path, monkeypatch)
        with pytest.raises(UntrustedError, match="copy it: the copy is yours"):
            open_own_file(str(path))
        with pytest.raises(StateError, match="belongs to"):
            read_bytes(str(path))
        with pytest.raises(StateError, match="belongs to"):
            fetch_native(file, str(target))
        assert not target.exists()
        monkeypatch.undo()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_state_is_written_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_atomically(str(tmp_path / "a" / "b" / "_metadata"), b"x")
        (tmp_path / "table.sst").write_bytes(b"x")
        copy_file(str(tmp_path / "table.sst"), f"file://{tmp_path}/a/shared/1")
        write_snapshot(str(tmp_path / "a" / "c" / "op-0"), lambda writer: None)
        with open_to_write(str(tmp_path / "a" / "part"), opener=private_opener):
            pass
        assert create_folder(str(tmp_path / "a" / "d" / "chk-1")) and not create_folder(str(tmp_path / "a" / "d"))
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path).as_posix(): mode_of(path) for path in (tmp_path / "a").rglob("*")}
    files = {"a/b/_metadata", "a/shared/1", "a/c/op-0", "a/part"}
    assert modes == {name: 0o600 if name in files else 0o700 for name in modes} and files < set(modes)
    assert mode_of(tmp_path / "a") == 0o700


def test_savepoints_are_not_written_into_somebody_elses_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    own.mkdir()
    theirs.mkdir()
    assert _savepoint_folder("a" * 32, str(own / "new"), None).startswith(f"{own}/new/savepoint-aaaaaa-")
    assert _savepoint_folder("a" * 32, "s3://bucket/x", None).startswith("s3://bucket/x/savepoint-")
    give_away(theirs, monkeypatch)
    for target in (str(theirs), str(theirs / "a" / "b"), f"file://{theirs}"):
        with pytest.raises(UntrustedError, match=r"belongs to .* name a folder of your own"):
            _savepoint_folder("a" * 32, target, None)
        with pytest.raises(UntrustedError):
            _savepoint_folder("a" * 32, None, target)
