"""Rows of copies, read by another process: one for all copies that a process asks for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from funke.engine.errors import StateError
from funke.engine.state.rocksdb import dump, tuning
from funke.engine.state.rocksdb.dump import read_rows, read_rows_elsewhere
from funke.engine.state.rocksdb.settings import RocksDBSettings
from funke.engine.state.rocksdb.store import RocksDBStore


def copy_with(folder: Path, rows: dict[bytes, bytes]) -> str:
    store = RocksDBStore(str(folder / "db"), RocksDBSettings())
    store.write(rows.items())
    store.link_to(str(folder / "copy"))
    store.close()
    return str(folder / "copy")


def test_one_process_reads_all_copies_of_a_slot(tmp_path: Path) -> None:
    contents = [{bytes([number, row]): b"x" * row for row in range(200)} for number in range(3)]
    contents.append({})
    copies = [copy_with(tmp_path / str(number), content) for number, content in enumerate(contents)]
    dump._reader_of.cache_clear()
    for copy, content in zip(copies, contents):
        assert dict(read_rows_elsewhere(copy)) == content == dict(read_rows(copy))
    assert dump._reader_of.cache_info().misses == 1
    reader = dump._reader_of(os.getpid())._process
    # Who leaves the rest unread ends it: what comes next must not be mistaken for an answer.
    assert next(read_rows_elsewhere(copies[0]))
    assert dict(read_rows_elsewhere(copies[1])) == contents[1]
    assert reader.poll() is not None


def test_a_copy_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=rf"the state in '{tmp_path}/none' could not be read: .* status 1"):
        list(read_rows_elsewhere(f"{tmp_path}/none"))
    assert dict(read_rows_elsewhere(copy_with(tmp_path, {b"a": b"b"}))) == {b"a": b"b"}


def test_what_rocksdb_notes_about_its_files_does_not_grow_with_every_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "_LARGEST_MANIFEST", 2048)
    store = RocksDBStore(str(tmp_path / "db"), RocksDBSettings())
    sizes = []
    for number in range(60):
        store.write([(b"key", bytes([number]))])
        folder = tmp_path / f"chk-{number}"
        store.link_to(str(folder))
        (manifest,) = folder.glob("MANIFEST-*")
        sizes.append(manifest.stat().st_size)
    store.close()
    # Without a limit it has 9 kB by now.
    assert max(sizes) < 4096, sizes
    assert dict(read_rows(str(folder))) == {b"key": bytes([59])}
