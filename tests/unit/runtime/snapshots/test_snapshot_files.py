"""Whatever a file system raises is one of two errors: it cannot be written, or it cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError

from funke.engine.errors import StateError, StorageUnavailableError
from funke.engine.runtime.snapshots import snapshot_files
from funke.engine.runtime.snapshots.snapshot_files import (
    copy_file,
    create_folder,
    delete_file,
    delete_folder,
    file_size,
    list_folder,
    open_for_reading,
    read_bytes,
    require_folder,
    write_atomically,
)

REASONS = [
    pa.ArrowException("Unknown error: the token was rejected"),
    pa.ArrowInvalid("no such setting"),
    Py4JError("the JVM is gone"),
    RecursionError("maximum recursion depth exceeded"),
    KeyError("account"),
    NotImplementedError("no client"),
    OSError("no route to host"),
]
WRITES: list[Callable[[str], Any]] = [lambda path: write_atomically(path, b"x"), require_folder]
READS: list[Callable[[str], Any]] = [read_bytes, open_for_reading, file_size, list_folder]


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: type(reason).__name__)
def test_a_client_may_raise_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reason: Exception) -> None:
    def reject(*_: Any) -> Any:
        raise reason

    monkeypatch.setattr(snapshot_files, "open_file_system", reject)
    monkeypatch.setattr(snapshot_files, "upload", reject)
    local = tmp_path / "x"
    local.touch()
    for write in [*WRITES, lambda path: copy_file(str(local), path)]:
        with pytest.raises(StateError, match=r"'abfs://x/chk-1' cannot be written: .*"):
            write("abfs://x/chk-1")
    for read in READS:
        with pytest.raises(StorageUnavailableError, match="'abfs://x/chk-1' cannot be read"):
            read("abfs://x/chk-1")
    # Nothing needs these two, so nobody fails by them.
    delete_folder("abfs://x/chk-1")
    delete_file("abfs://x/chk-1")
    assert create_folder("abfs://x/chk-1")


@pytest.mark.parametrize(
    "path", ["/tmp/a\0b", "/tmp" + "/a" * 6000, "/tmp/" + "a" * 300, "/dev/null/x"], ids=["NUL", "deep", "long", "file"]
)
def test_local_paths_that_no_file_can_have(path: str) -> None:
    for write in WRITES:
        with pytest.raises(StateError, match="cannot be written"):
            write(path)
    with pytest.raises(StateError, match="cannot be read"):
        read_bytes(path)
    delete_folder(path)
    delete_file(path)


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    assert require_folder(f"{tmp_path}/a/b") and not require_folder(f"{tmp_path}/a/b")
