"""State backends of Flink 2 and 1.x as data, and the options they stand for."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    PriorityQueueStateType,
    RocksDBOptionsFactory,
    RocksDBStateBackend,
)
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.jobs.checkpoints.backend_settings import backend_choice
from funke.engine.state.backend_choice import BackendChoice


class FewThreads(RocksDBOptionsFactory):
    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        return current_options

    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        return current_options


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


def test_rocksdb_paths_are_written_as_flink_writes_them() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/tmp//a/", "file:/b/", "FILE:///c", "/d/../e", "/")

    assert backend.get_db_storage_paths() == ["/tmp/a", "/b", "/c", "/d/../e", "/"]
    with pytest.raises(ConfigurationError, match=r"Path hdfs:///x has a non-local scheme\n  in your job: "):
        backend.set_db_storage_paths("hdfs:///x")


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


def test_rocksdb_settings_of_flinks_java_api() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_priority_queue_state_type() is PriorityQueueStateType.ROCKSDB
    assert backend.get_write_batch_size() == 2 * 1024 * 1024
    backend.set_priority_queue_state_type(PriorityQueueStateType.HEAP)
    backend.set_write_batch_size(1000)
    backend.enable_ttl_compaction_filter()

    assert backend.is_ttl_compaction_filter_enabled()
    assert backend.to_options() == {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.timer-service.factory": "HEAP",
        "state.backend.rocksdb.write-batch-size": "1000",
    }


def test_an_options_factory_is_an_object_or_a_name() -> None:
    backend = EmbeddedRocksDBStateBackend()
    factory = FewThreads()
    backend.set_options(factory)
    assert backend.get_options() == f"{__name__}.FewThreads"
    assert backend.to_options()["state.backend.rocksdb.options-factory"] is factory
    backend.set_options(f"{__name__}.FewThreads")
    assert backend.get_options() == f"{__name__}.FewThreads"
    backend.set_options(None)
    assert backend.get_options() is None


def test_another_backend_replaces_the_first_with_all_its_settings() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_state_backend(MemoryStateBackend(using_asynchronous_snapshots=False))
    assert not backend_choice(env._settings).is_asynchronous
    env.set_state_backend(HashMapStateBackend())
    assert backend_choice(env._settings) == BackendChoice()


def test_memory_backend_of_flink_1() -> None:
    backend = MemoryStateBackend("file:///chk", "file:///sav", 1000)

    assert backend.get_max_state_size() == 1000
    assert backend.is_using_asynchronous_snapshots()
    assert MemoryStateBackend().get_max_state_size() == MemoryStateBackend.DEFAULT_MAX_STATE_SIZE
    assert backend.to_options() == {
        "state.backend.type": "hashmap",
        "execution.checkpointing.storage": "jobmanager",
        "funke.checkpointing.max-state-size": "1000 bytes",
        "execution.checkpointing.dir": "file:///chk",
        "execution.checkpointing.savepoint-dir": "file:///sav",
    }


def test_file_backend_of_flink_1() -> None:
    backend = FsStateBackend("file:///var/chk/", using_asynchronous_snapshots=False)

    assert backend.get_checkpoint_path() == "file:/var/chk"
    assert (backend.get_min_file_size_threshold(), backend.get_write_buffer_size()) == (20480, 4096)
    assert not backend.is_using_asynchronous_snapshots()
    assert backend.to_options()["execution.checkpointing.dir"] == "file:///var/chk/"
    assert backend.to_options()["state.backend.async"] == "false"


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
        (lambda: EmbeddedRocksDBStateBackend().set_options("org.x.F"), ConfigurationError, "write a Python class with"),
        (lambda: EmbeddedRocksDBStateBackend().set_options(object()), ConfigurationError, "needs create_db_options"),  # type: ignore[arg-type]
        (lambda: EmbeddedRocksDBStateBackend().set_write_batch_size(-1), ConfigurationError, "at least 0"),
        (FsStateBackend, ValueError, "checkpoint_directory_uri"),
        (RocksDBStateBackend, ValueError, "checkpoint_data_uri"),
        (lambda: CustomStateBackend(object()), UnsupportedFeatureError, "CustomStateBackend"),
    ],
)
def test_what_cannot_be_is_rejected(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
