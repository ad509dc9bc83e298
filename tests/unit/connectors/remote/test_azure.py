"""Azure's client runs beside the process that needs it, because it may end the one that it runs in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from funke.engine.connectors.remote import azure
from funke.engine.connectors.remote.access import StorageAccess
from funke.engine.connectors.remote.azure import AzureFiles
from funke.engine.connectors.remote.file_systems import _open
from funke.engine.errors import StorageUnavailableError
from funke.engine.runtime.snapshots.snapshot_files import read_bytes

# The client of the local file system in its place: the calls and the process are the same.
LOCAL = (
    "import sys; from pyarrow import fs; from funke.engine.connectors.remote import azure;"
    "azure.fs.AzureFileSystem = lambda account: fs.LocalFileSystem(); azure.serve(sys.argv[1], int(sys.argv[2]))"
)
DYING = "import os, sys; sys.stderr.write('terminate called: no token'); sys.stderr.flush(); os.abort()"


def test_files_are_written_read_listed_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(azure, "_COMMAND", LOCAL)
    system = fs.PyFileSystem(AzureFiles("account"))
    folder = f"{tmp_path}/c/chk-1"
    system.create_dir(folder)
    with system.open_output_stream(f"{folder}/a") as out:
        out.write(b"hello")
    with system.open_input_file(f"{folder}/a") as file:
        assert file.read() == b"hello"
    system.move(f"{folder}/a", f"{folder}/b")
    [info] = system.get_file_info(fs.FileSelector(folder))
    assert (info.path, info.type, info.size) == (f"{folder}/b", fs.FileType.File, 5)
    assert system.get_file_info(f"{folder}/a").type == fs.FileType.NotFound
    with pytest.raises(FileNotFoundError):
        system.open_input_file(f"{folder}/a")
    system.delete_file(f"{folder}/b")
    system.delete_dir(folder)
    assert not Path(folder).exists()


def test_a_client_that_dies_is_a_failed_call_and_the_next_call_has_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = AzureFiles("account")
    monkeypatch.setattr(azure, "_COMMAND", DYING)
    for _ in range(2):
        with pytest.raises(OSError, match=r"Azure's client ended: terminate called: no token"):
            files.get_file_info(["c/x"])
    monkeypatch.setattr(azure, "_COMMAND", LOCAL)
    assert files.get_file_info([str(tmp_path)])[0].type == fs.FileType.Directory


def test_without_a_key_it_is_asked_for_tokens_and_storage_that_rejects_them_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(azure, "_COMMAND", DYING)
    with pytest.raises(StorageUnavailableError, match="no token"):
        read_bytes("abfs://container@nobody.dfs.core.windows.net/chk-1/_metadata")
    keyed = StorageAccess((("fs.azure.account.key.a.dfs.core.windows.net", "aGVsbG8="),))
    assert isinstance(_open("abfs", "c@a.dfs.core.windows.net", keyed), fs.AzureFileSystem)
