"""State backends of Flink 2 and 1.x as data, and the options they stand for."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
)
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError


def test_hashmap() -> None:
    assert HashMapStateBackend().to_options() == {"state.backend.type": "hashmap"}


def test_rocksdb_defaults() -> None:
    backend = EmbeddedRocksDBStateBackend()

    assert not backend.is_incremental_checkpoints_enabled()
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert backend.get_number_of_transfer_threads() == 4
    assert backend.get_db_storage_paths() == []
    assert backend.get_options() is None
    assert backend.to_options() == {"state.backend.type": "rocksdb"}


def test_rocksdb_settings() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/a/b", "file:///c")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(8)

    assert backend.get_db_storage_paths() == ["/a/b", "/c"]
    assert backend.to_options() == {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
        "state.backend.rocksdb.localdir": "/a/b,/c",
        "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED",
        "state.backend.rocksdb.checkpoint.transfer.thread.num": "8",
    }


def test_memory_backend_of_flink_1() -> None:
    backend = MemoryStateBackend("file:///chk", "file:///sav", 1000)

    assert backend.get_max_state_size() == 1000
    assert backend.is_using_asynchronous_snapshots()
    assert MemoryStateBackend().get_max_state_size() == MemoryStateBackend.DEFAULT_MAX_STATE_SIZE
    assert backend.to_options() == {
        "state.backend.type": "hashmap",
        "execution.checkpointing.storage": "jobmanager",
        "execution.checkpointing.dir": "file:///chk",
        "execution.checkpointing.savepoint-dir": "file:///sav",
    }


def test_file_backend_of_flink_1() -> None:
    backend = FsStateBackend("file:///var/chk/", using_asynchronous_snapshots=False)

    assert backend.get_checkpoint_path() == "file:/var/chk"
    assert (backend.get_min_file_size_threshold(), backend.get_write_buffer_size()) == (20480, 4096)
    assert not backend.is_using_asynchronous_snapshots()
    assert backend.to_options()["execution.checkpointing.dir"] == "file:///var/chk/"


def test_rocksdb_backend_of_flink_1() -> None:
    backend = RocksDBStateBackend("file:///chk", True)
    other = RocksDBStateBackend(checkpoint_stream_backend=FsStateBackend("file:///other"))
    backend.set_number_of_transfering_threads(2)

    assert isinstance(backend.get_checkpoint_backend(), FsStateBackend)
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_number_of_transfering_threads() == 2
    assert backend.to_options()["state.backend.type"] == "rocksdb"
    assert backend.to_options()["execution.checkpointing.dir"] == "file:///chk"
    assert other.to_options()["execution.checkpointing.dir"] == "file:///other"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: EmbeddedRocksDBStateBackend("yes"), TypeError, "must be True, False or None"),  # type: ignore[arg-type]
        (lambda: EmbeddedRocksDBStateBackend().set_db_storage_paths("x/y"), ConfigurationError, "must be absolute"),
        (lambda: EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(0), ConfigurationError, "at least 1"),
        (lambda: EmbeddedRocksDBStateBackend().set_options("a.B"), UnsupportedFeatureError, "options factory"),
        (FsStateBackend, ValueError, "checkpoint_directory_uri"),
        (RocksDBStateBackend, ValueError, "checkpoint_data_uri"),
        (lambda: CustomStateBackend(object()), UnsupportedFeatureError, "CustomStateBackend"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
