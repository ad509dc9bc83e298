"""From Flink's options to the backend that slots are told to use."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from funke.common import Configuration
from funke.datastream.rocksdb_options_factory import with_packed_factory
from funke.datastream.state_backend import ConfigurableRocksDBOptionsFactory, RocksDBOptionsFactory
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.checkpoints.backend_settings import backend_choice
from funke.engine.state.backend_choice import BackendChoice
from funke.engine.state.rocksdb.settings import RocksDBSettings

MIB = 1 << 20


def choice(**options: str) -> BackendChoice:
    return backend_choice(Settings({key.replace("__", "-").replace("_", "."): text for key, text in options.items()}))


def rocksdb(**options: str) -> RocksDBSettings:
    prefixed = {
        key if key.startswith("taskmanager") else f"state_backend_rocksdb_{key}": text for key, text in options.items()
    }
    return choice(state_backend_type="rocksdb", **prefixed).rocksdb


@pytest.mark.parametrize(
    ("backend", "limit"),
    [
        ("hashmap", None),
        ("jobmanager", 5 * MIB),
        ("memory", 5 * MIB),
        ("filesystem", None),
        ("org.apache.flink.runtime.state.memory.MemoryStateBackendFactory", 5 * MIB),
        ("org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory", None),
    ],
)
def test_backends_of_flink_1_keep_state_in_memory(backend: str, limit: int | None) -> None:
    result = choice(state_backend=backend, state_checkpoints_dir="/checkpoints")
    assert (result.name, result.max_state_bytes, result.is_asynchronous) == ("hashmap", limit, True)


def test_the_storage_in_memory_limits_any_backend() -> None:
    options = {"execution_checkpointing_storage": "jobmanager", "funke_checkpointing_max__state__size": "1 kb"}
    assert choice(state_backend_type="rocksdb", **options).max_state_bytes == 1024
    assert choice(**options).max_state_bytes == 1024


def test_snapshots_in_memory_can_be_synchronous_and_those_of_rocksdb_cannot() -> None:
    assert not choice(state_backend="hashmap", state_backend_async="false").is_asynchronous
    assert choice(state_backend="rocksdb", state_backend_async="false").is_asynchronous


@pytest.mark.parametrize(
    ("options", "memory"),
    [
        ({}, 256 * MIB),
        ({"memory_fixed__per__slot": "32 mb"}, 32 * MIB),
        ({"memory_fixed__per__tm": "64 mb", "taskmanager_numberOfTaskSlots": "4"}, 16 * MIB),
        ({"taskmanager_memory_managed_size": "64 mb", "taskmanager_numberOfTaskSlots": "2"}, 32 * MIB),
        ({"taskmanager_memory_flink_size": "1000 mb"}, 419_430_406),
        (
            {"taskmanager_memory_process_size": "1000 mb", "taskmanager_memory_managed_fraction": "0.1"},
            74_658_612,
        ),
        ({"memory_managed": "false", "taskmanager_memory_managed_size": "64 mb"}, None),
        ({"memory_managed": "false", "memory_fixed__per__slot": "32 mb"}, 32 * MIB),
    ],
)
def test_the_memory_of_a_slot(options: dict[str, str], memory: int | None) -> None:
    assert rocksdb(**options).memory_bytes == memory


def test_without_managed_memory_only_state_in_memory_works() -> None:
    assert choice(state_backend_type="hashmap", taskmanager_memory_managed_size="0").name == "hashmap"
    with pytest.raises(ConfigurationError, match=r"taskmanager.memory.managed.size.*RocksDB has none"):
        rocksdb(taskmanager_memory_managed_size="0")


def test_options_are_passed_on_by_name() -> None:
    backend = rocksdb(
        thread_num="3",
        writebuffer_size="2 mb",
        compression_per_level="NO_COMPRESSION;snappy_compression",
        timer__service_factory="heap",
        timer__service_cache__size="256",
        memory_high__prio__pool__ratio="0",
        memory_partitioned__index__filters="false",
        write__batch__size="1 mb",
        predefined__options="FLASH_SSD_OPTIMIZED",
    )
    assert dict(backend.tuning) == {
        "thread.num": 3,
        "writebuffer.size": 2 * MIB,
        "compression.per.level": ("NO_COMPRESSION", "SNAPPY_COMPRESSION"),
    }
    assert backend.has_timers_in_memory
    assert backend.cached_timers == 100_000, "twice as many as by default"
    assert not backend.holds_indexes
    assert not backend.has_partitioned_filters
    assert (backend.write_batch_bytes, backend.predefined_options) == (MIB, "FLASH_SSD_OPTIMIZED")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state_backend": "my.own.Factory"}, "unknown state backend 'my.own.Factory'; expected hashmap or rocksdb"),
        ({"state_backend": "filesystem"}, "needs a directory: set execution.checkpointing.dir"),
        ({"execution_checkpointing_storage": "tape"}, "unknown checkpoint storage 'tape'"),
        (
            {"state_backend": "rocksdb", "state_backend_rocksdb_memory_write__buffer__ratio": "0.95"},
            "less than 1 together with",
        ),
        (
            {"state_backend": "rocksdb", "state_backend_rocksdb_memory_high__prio__pool__ratio": "2"},
            "less than 1, got 2",
        ),
        (
            {"state_backend": "rocksdb", "state_backend_rocksdb_compression_per_level": "RAR"},
            "unknown RocksDB compression 'RAR'",
        ),
        ({"state_backend": "rocksdb", "state_backend_rocksdb_predefined__options": "TAPE"}, "not one of DEFAULT"),
        ({"state_backend": "rocksdb", "state_backend_rocksdb_options__factory": "a.B"}, "'a.B' was not loaded"),
    ],
)
def test_what_cannot_be_is_rejected(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        choice(**options)


class Threads(ConfigurableRocksDBOptionsFactory):
    def __init__(self) -> None:
        self.threads = 1

    def configure(self, configuration: Configuration) -> RocksDBOptionsFactory:
        self.threads = configuration.get_integer("my.threads", 2)
        return self

    def create_db_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        current_options.set_max_background_jobs(self.threads)
        return current_options

    def create_column_options(self, current_options: Any, handles_to_close: list[Any]) -> Any:
        return current_options


@pytest.mark.parametrize("factory", [Threads(), f"{__name__}.Threads", f"{__name__}:Threads"])
def test_an_options_factory_reads_the_configuration_and_travels(factory: Any) -> None:
    settings = {"state.backend": "rocksdb", "my.threads": "7", "state.backend.rocksdb.options-factory": factory}
    packed = with_packed_factory(Settings(settings))
    by_key = backend_choice(Settings(packed.to_text_dict())).rocksdb.options_factory
    assert by_key is not None
    assert pickle.loads(by_key).threads == 7
    assert with_packed_factory(packed) == packed, "what a job record holds is used as it is"


def test_flinks_own_factory_is_what_options_do() -> None:
    name = "org.apache.flink.contrib.streaming.state.DefaultConfigurableOptionsFactory"
    settings = Settings({"state.backend": "rocksdb", "state.backend.rocksdb.options-factory": name})
    assert backend_choice(with_packed_factory(settings)).rocksdb.options_factory is None


def test_a_java_class_is_rejected_with_the_way_to_write_it() -> None:
    settings = Settings({"state.backend": "rocksdb", "state.backend.rocksdb.options-factory": "com.company.Tuned"})
    with pytest.raises(ConfigurationError, match=r"com\.company\.Tuned.*write a Python class.*'module\.Class'"):
        with_packed_factory(settings)
