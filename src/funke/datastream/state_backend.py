"""How state is kept while a job runs."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

from funke.datastream.checkpoint_storage import (
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
    require_threshold,
)
from funke.datastream.rocksdb_options_factory import (
    ConfigurableRocksDBOptionsFactory,
    RocksDBOptionsFactory,
    load_factory,
    require_factory,
)
from funke.engine.config import flink_options as options
from funke.engine.config import rocksdb_options
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError, at_user_line
from funke.engine.types.enum_members import require_member

__all__ = [
    "StateBackend",
    "HashMapStateBackend",
    "EmbeddedRocksDBStateBackend",
    "MemoryStateBackend",
    "FsStateBackend",
    "RocksDBStateBackend",
    "CustomStateBackend",
    "PredefinedOptions",
    "PriorityQueueStateType",
    "RocksDBOptionsFactory",
    "ConfigurableRocksDBOptionsFactory",
]

_TYPE = options.STATE_BACKEND.key
_INCREMENTAL = options.INCREMENTAL_CHECKPOINTS.key
_ASYNCHRONOUS = options.ASYNCHRONOUS_SNAPSHOTS.key
_LOCAL_DIRECTORIES = rocksdb_options.LOCAL_DIRECTORIES.key
_PREDEFINED_OPTIONS = rocksdb_options.PREDEFINED_OPTIONS.key
_OPTIONS_FACTORY = rocksdb_options.OPTIONS_FACTORY.key
_TIMER_STORE = rocksdb_options.TIMER_STORE.key
_WRITE_BATCH_SIZE = rocksdb_options.WRITE_BATCH_SIZE.key
_TRANSFER_THREADS = "state.backend.rocksdb.checkpoint.transfer.thread.num"
_SAVEPOINT_DIRECTORY = options.SAVEPOINT_DIRECTORY.key


class PredefinedOptions(Enum):
    """Sets of RocksDB settings for kinds of disks.

    >>> from funke.datastream import EmbeddedRocksDBStateBackend, PredefinedOptions
    >>> backend = EmbeddedRocksDBStateBackend()
    >>> backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    >>> backend.get_predefined_options().name
    'FLASH_SSD_OPTIMIZED'
    """

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class PriorityQueueStateType(Enum):
    """Where timers are kept."""

    HEAP = 0
    ROCKSDB = 1


class StateBackend(ABC):
    """A way to keep state.

    >>> from funke.datastream import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
    >>> def backend_for(gigabytes) -> StateBackend:
    ...     return HashMapStateBackend() if gigabytes < 10 else EmbeddedRocksDBStateBackend()
    >>> [backend_for(gigabytes).to_options()["state.backend.type"] for gigabytes in (1, 100)]
    ['hashmap', 'rocksdb']
    """

    @abstractmethod
    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this way."""

    def __str__(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in sorted(self.to_options().items()) if key != _TYPE)
        return f"{type(self).__name__}({settings})"


class HashMapStateBackend(StateBackend):
    """Keeps state as objects in memory.

    >>> from funke.datastream import HashMapStateBackend, StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> _ = env.set_state_backend(HashMapStateBackend())
    >>> type(env.get_state_backend()).__name__
    'HashMapStateBackend'
    """

    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this backend."""
        return {_TYPE: "hashmap"}


class _RocksDB(StateBackend):
    """Settings that both RocksDB backends have."""

    def __init__(self, enable_incremental_checkpointing: bool | None) -> None:
        _require_flag("enable_incremental_checkpointing", enable_incremental_checkpointing)
        self._incremental = enable_incremental_checkpointing
        self._db_storage_paths: list[str] = []
        self._predefined_options: PredefinedOptions | None = None
        self._transfer_threads: int | None = None
        self._options_factory: Any = None
        self._timer_store: PriorityQueueStateType | None = None
        self._write_batch_size: int | None = None

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the local directories in which RocksDB keeps its files; none means the default."""
        self._db_storage_paths = [_local_path(path) for path in paths]

    def get_db_storage_paths(self) -> list[str]:
        """Return the local directories in which RocksDB keeps its files."""
        return list(self._db_storage_paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Tell whether a checkpoint holds only what changed since the last one."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Choose a set of settings for a kind of disk."""
        self._predefined_options = require_member(PredefinedOptions, options, "set_predefined_options()")

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the set of settings for a kind of disk."""
        return self._predefined_options or PredefinedOptions.DEFAULT

    def set_options(self, options_factory_class_name: str | RocksDBOptionsFactory | None) -> None:
        """Set what has the last word about RocksDB's options: a Python class as 'module.Class', or an object."""
        factory = options_factory_class_name
        if isinstance(factory, str):
            load_factory(factory)
        elif factory is not None:
            require_factory(factory)
        self._options_factory = factory

    def get_options(self) -> str | None:
        """Return the name of the options factory's class, or None."""
        factory = self._options_factory
        if factory is None or isinstance(factory, str):
            return factory
        return f"{type(factory).__module__}.{type(factory).__qualname__}"

    def set_priority_queue_state_type(self, priority_queue_state_type: PriorityQueueStateType) -> None:
        """Choose where timers are kept."""
        asker = "set_priority_queue_state_type()"
        self._timer_store = require_member(PriorityQueueStateType, priority_queue_state_type, asker)

    def get_priority_queue_state_type(self) -> PriorityQueueStateType:
        """Return where timers are kept."""
        return self._timer_store or PriorityQueueStateType.ROCKSDB

    def set_write_batch_size(self, write_batch_size: int) -> None:
        """Set how many bytes are written to RocksDB at once; 0 for any number."""
        if write_batch_size < 0:
            raise ConfigurationError(f"RocksDB's write batch size must be at least 0, got {write_batch_size}")
        self._write_batch_size = write_batch_size

    def get_write_batch_size(self) -> int:
        """Return how many bytes are written to RocksDB at once."""
        return rocksdb_options.WRITE_BATCH_SIZE.default if self._write_batch_size is None else self._write_batch_size

    def enable_ttl_compaction_filter(self) -> None:
        """Do nothing: as in Flink since 1.10, expired state is always removed in the background."""

    def is_ttl_compaction_filter_enabled(self) -> bool:
        """Tell whether expired state is removed in the background."""
        return True

    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this backend."""
        chosen: dict[str, Any] = {_TYPE: "rocksdb"}
        if self._incremental is not None:
            chosen[_INCREMENTAL] = "true" if self._incremental else "false"
        if self._db_storage_paths:
            chosen[_LOCAL_DIRECTORIES] = ",".join(self._db_storage_paths)
        if self._predefined_options is not None:
            chosen[_PREDEFINED_OPTIONS] = self._predefined_options.name
        if self._transfer_threads is not None:
            chosen[_TRANSFER_THREADS] = str(self._transfer_threads)
        if self._options_factory is not None:
            chosen[_OPTIONS_FACTORY] = self._options_factory
        if self._timer_store is not None:
            chosen[_TIMER_STORE] = self._timer_store.name
        if self._write_batch_size is not None:
            chosen[_WRITE_BATCH_SIZE] = str(self._write_batch_size)
        return chosen

    def _get_transfer_threads(self) -> int:
        return 4 if self._transfer_threads is None else self._transfer_threads

    def _set_transfer_threads(self, number: int) -> None:
        if number <= 0:
            raise ConfigurationError(f"RocksDB needs at least 1 transfer thread, got {number}")
        self._transfer_threads = number


class EmbeddedRocksDBStateBackend(_RocksDB):
    """Keeps state in RocksDB, for state that is larger than memory.

    >>> from funke.datastream import EmbeddedRocksDBStateBackend, StreamExecutionEnvironment
    >>> backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
    >>> backend.set_db_storage_paths("/mnt/disk1", "/mnt/disk2")
    >>> _ = StreamExecutionEnvironment.get_execution_environment().set_state_backend(backend)
    >>> backend.is_incremental_checkpoints_enabled(), backend.get_db_storage_paths()
    (True, ['/mnt/disk1', '/mnt/disk2'])
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        super().__init__(enable_incremental_checkpointing)

    def get_number_of_transfer_threads(self) -> int:
        """Return how many threads copy files of a checkpoint."""
        return self._get_transfer_threads()

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads copy files of a checkpoint."""
        self._set_transfer_threads(number_of_transfering_threads)


class _InMemory(StateBackend):
    """What both backends of Flink 1.x that keep state in memory have."""

    def __init__(self, savepoint_path: str | None, using_asynchronous_snapshots: bool | None) -> None:
        _require_flag("using_asynchronous_snapshots", using_asynchronous_snapshots)
        self._savepoint_path = savepoint_path
        self._using_asynchronous_snapshots = using_asynchronous_snapshots

    def is_using_asynchronous_snapshots(self) -> bool:
        """Tell whether snapshots are written while the job goes on."""
        return self._using_asynchronous_snapshots is not False

    def _snapshot_options(self) -> dict[str, str]:
        chosen = {} if self._savepoint_path is None else {_SAVEPOINT_DIRECTORY: self._savepoint_path}
        if self._using_asynchronous_snapshots is not None:
            chosen[_ASYNCHRONOUS] = "true" if self._using_asynchronous_snapshots else "false"
        return chosen


class MemoryStateBackend(_InMemory):
    """Flink 1.x: keeps state as objects and checkpoints in the memory of the coordinator.

    >>> from funke.datastream import MemoryStateBackend
    >>> MemoryStateBackend().get_max_state_size()  # HashMapStateBackend and JobManagerCheckpointStorage replace it
    5242880
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        super().__init__(savepoint_path, using_asynchronous_snapshots)
        self._storage = JobManagerCheckpointStorage(checkpoint_path, max_state_size)

    def get_max_state_size(self) -> int:
        """Return how many bytes the state of one subtask may have."""
        return self._storage.get_max_state_size()

    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this backend."""
        return {_TYPE: "hashmap", **self._storage.to_options(), **self._snapshot_options()}


class FsStateBackend(_InMemory):
    """Flink 1.x: keeps state as objects and writes checkpoints into a directory.

    >>> from funke.datastream import FsStateBackend
    >>> backend = FsStateBackend("file:///tmp/checkpoints")
    >>> backend.get_checkpoint_path()  # HashMapStateBackend and FileSystemCheckpointStorage replace it
    'file:/tmp/checkpoints'
    """

    def __init__(
        self,
        checkpoint_directory_uri: str | None = None,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        if checkpoint_directory_uri is None:
            raise ValueError("FsStateBackend needs a checkpoint_directory_uri")
        super().__init__(default_savepoint_directory_uri, using_asynchronous_snapshots)
        threshold = require_threshold(file_state_size_threshold, FileSystemCheckpointStorage.MAX_FILE_STATE_THRESHOLD)
        buffer_size = -1 if write_buffer_size is None else write_buffer_size
        self._storage = FileSystemCheckpointStorage(checkpoint_directory_uri, threshold, buffer_size)

    def get_checkpoint_path(self) -> str:
        """Return the directory."""
        return self._storage.get_checkpoint_path()

    def get_min_file_size_threshold(self) -> int:
        """Return up to how many bytes state is written into the metadata instead of a file."""
        return self._storage.get_min_file_size_threshold()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are collected before they are written."""
        return self._storage.get_write_buffer_size()

    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this backend."""
        return {_TYPE: "hashmap", **self._storage.to_options(), **self._snapshot_options()}


class RocksDBStateBackend(_RocksDB):
    """Flink 1.x: keeps state in RocksDB and writes checkpoints where another backend says, or into a directory.

    >>> from funke.datastream import RocksDBStateBackend
    >>> backend = RocksDBStateBackend("file:///tmp/checkpoints", enable_incremental_checkpointing=True)
    >>> backend.is_incremental_checkpoints_enabled()  # EmbeddedRocksDBStateBackend replaces it
    True
    """

    def __init__(
        self,
        checkpoint_data_uri: str | None = None,
        enable_incremental_checkpointing: bool | None = None,
        checkpoint_stream_backend: StateBackend | None = None,
    ) -> None:
        super().__init__(enable_incremental_checkpointing)
        if checkpoint_data_uri is not None:
            self._checkpoint_backend: StateBackend = FsStateBackend(checkpoint_data_uri)
        elif isinstance(checkpoint_stream_backend, StateBackend):
            self._checkpoint_backend = checkpoint_stream_backend
        else:
            raise ValueError("RocksDBStateBackend needs a checkpoint_data_uri or a checkpoint_stream_backend")

    def get_checkpoint_backend(self) -> StateBackend:
        """Return the backend that says where checkpoints are written."""
        return self._checkpoint_backend

    def get_number_of_transfering_threads(self) -> int:
        """Return how many threads copy files of a checkpoint."""
        return self._get_transfer_threads()

    def set_number_of_transfering_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads copy files of a checkpoint."""
        self._set_transfer_threads(number_of_transfering_threads)

    def to_options(self) -> dict[str, Any]:
        """Return the options that choose this backend."""
        return {**self._checkpoint_backend.to_options(), **super().to_options()}


class CustomStateBackend(StateBackend):
    """PyFlink's wrapper of a backend class of the JVM.

    >>> from funke.datastream import CustomStateBackend
    >>> CustomStateBackend("a class of the JVM")  # HashMapStateBackend and EmbeddedRocksDBStateBackend work
    Traceback (most recent call last):
        ...
    funke.engine.errors.UnsupportedFeatureError: CustomStateBackend is not supported: it wraps a class...
    """

    def __init__(self, backend: Any) -> None:
        raise UnsupportedFeatureError("CustomStateBackend", "it wraps a class of Flink's JVM")

    def to_options(self) -> dict[str, Any]:
        """Return nothing: there are no instances."""
        return {}


def _require_flag(name: str, value: object) -> None:
    if value not in (None, True, False):
        raise TypeError(f"{name} must be True, False or None, got {value!r}")


def _local_path(path: str) -> str:
    scheme, colon, rest = path.partition(":")
    if colon and scheme.lower() != "file" and "/" not in scheme:
        raise ConfigurationError(at_user_line(f"Path {path} has a non-local scheme"))
    local = rest if colon and scheme.lower() == "file" else path
    if not os.path.isabs(local):
        raise ConfigurationError(at_user_line(f"RocksDB's directories must be absolute, got '{path}'"))
    # As Java's File writes it: one slash between the parts, none at the end; `..` stays.
    return re.sub("//+", "/", local).rstrip("/") or "/"
