"""Which state backend the configuration chooses, and how it is set up."""

from __future__ import annotations

import base64
import os
import re
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config import memory_options as memory
from funke.engine.config import rocksdb_options as rocksdb
from funke.engine.config.memory_model import worker_memory
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.state.backend_choice import BackendChoice, RocksDBSettings
from funke.engine.state.rocksdb.tuning import COMPRESSIONS
from funke.engine.state.state_latency import LatencyTracking

__all__ = ["DEFAULT_MAX_STATE_BYTES", "PICKLED_FACTORY", "backend_choice"]

DEFAULT_MAX_STATE_BYTES = 5 * 1024 * 1024
# What stands before an options factory in the configuration: an object, not a name.
PICKLED_FACTORY = "pickled:"

# Flink 1.x's names stand for state in memory and a folder for checkpoints. Flink also takes names of classes.
_BACKENDS: dict[str, tuple[str, str | None]] = {
    "hashmap": ("hashmap", None),
    "rocksdb": ("rocksdb", None),
    "jobmanager": ("hashmap", "jobmanager"),
    "memory": ("hashmap", "jobmanager"),
    "filesystem": ("hashmap", "filesystem"),
    "hashmapstatebackendfactory": ("hashmap", None),
    "embeddedrocksdbstatebackendfactory": ("rocksdb", None),
    "rocksdbstatebackendfactory": ("rocksdb", "filesystem"),
    "memorystatebackendfactory": ("hashmap", "jobmanager"),
    "fsstatebackendfactory": ("hashmap", "filesystem"),
}
_STORAGES = {
    "jobmanager": "jobmanager",
    "filesystem": "filesystem",
    "jobmanagercheckpointstoragefactory": "jobmanager",
    "filesystemcheckpointstoragefactory": "filesystem",
}
_FLINK_PACKAGES = ("org.apache.flink.runtime.state.", "org.apache.flink.contrib.", "org.apache.flink.state.rocksdb.")

_CACHED_TIMERS = RocksDBSettings().cached_timers


def backend_choice(settings: Settings) -> BackendChoice:
    """The backend of a job's keyed state, and what its checkpoints may be."""
    configured = str(settings.get(options.STATE_BACKEND))
    name, storage = _BACKENDS.get(_short_name(configured), ("", None))
    if not name:
        raise ConfigurationError(
            f"unknown state backend '{configured}'; expected hashmap or rocksdb (Flink 1.x: jobmanager, filesystem)"
        )
    limit, tracking = _max_state_bytes(settings, storage), _latency_tracking(settings)
    if name == "hashmap":
        is_asynchronous = settings.get(options.ASYNCHRONOUS_SNAPSHOTS)
        return BackendChoice(is_asynchronous=is_asynchronous, max_state_bytes=limit, latency_tracking=tracking)
    directories = _local_directories(settings.get(rocksdb.LOCAL_DIRECTORIES))
    rocks = _rocksdb_settings(settings)
    return BackendChoice("rocksdb", rocks, directories, max_state_bytes=limit, latency_tracking=tracking)


def _latency_tracking(settings: Settings) -> LatencyTracking | None:
    if not settings.get(options.STATE_LATENCY):
        return None
    interval, size = settings.get(options.STATE_LATENCY_SAMPLE), settings.get(options.STATE_LATENCY_HISTORY)
    for option, value in ((options.STATE_LATENCY_SAMPLE, interval), (options.STATE_LATENCY_HISTORY, size)):
        if value < 1:
            raise ConfigurationError(f"{option.key} must be at least 1, got {value}")
    return LatencyTracking(interval, size)


def _short_name(name: str) -> str:
    short = name.rpartition(".")[2] if name.startswith(_FLINK_PACKAGES) else name
    return short.lower()


def _max_state_bytes(settings: Settings, storage_of_backend: str | None) -> int | None:
    """What the storage 'jobmanager' takes; as in Flink, a backend of Flink 1.x decides before what storage is set."""
    configured = settings.get(options.CHECKPOINT_STORAGE)
    storage = storage_of_backend or (None if configured is None else _STORAGES.get(_short_name(configured)))
    if configured is not None and storage is None:
        raise ConfigurationError(f"unknown checkpoint storage '{configured}'; expected jobmanager or filesystem")
    if storage == "filesystem" and not settings.get(options.CHECKPOINTS_DIRECTORY):
        raise ConfigurationError(
            f"the checkpoint storage 'filesystem' needs a directory: set {options.CHECKPOINTS_DIRECTORY.key}"
        )
    if storage != "jobmanager":
        return None
    return int(settings.get(options.MAX_STATE_SIZE) or DEFAULT_MAX_STATE_BYTES)


def _rocksdb_settings(settings: Settings) -> RocksDBSettings:
    high_priority = _ratio(settings, rocksdb.HIGH_PRIORITY_RATIO)
    write_buffers = _ratio(settings, rocksdb.WRITE_BUFFER_RATIO)
    if not write_buffers or write_buffers + high_priority >= 1:
        raise ConfigurationError(
            f"{rocksdb.WRITE_BUFFER_RATIO.key} must be more than 0, and less than 1 together with "
            f"{rocksdb.HIGH_PRIORITY_RATIO.key}; got {write_buffers} and {high_priority}"
        )
    return RocksDBSettings(
        memory_bytes=_memory_per_slot(settings),
        write_buffer_ratio=write_buffers,
        holds_indexes=high_priority > 0,
        has_partitioned_filters=settings.get(rocksdb.HAS_PARTITIONED_FILTERS),
        write_batch_bytes=settings.get(rocksdb.WRITE_BATCH_SIZE),
        predefined_options=settings.get(rocksdb.PREDEFINED_OPTIONS),
        tuning=_tuning(settings),
        options_factory=_options_factory(settings.get(rocksdb.OPTIONS_FACTORY)),
        has_timers_in_memory=settings.get(rocksdb.TIMER_STORE) == "HEAP",
        # Flink counts by key group: what is more or less there is so here.
        cached_timers=max(
            1, _CACHED_TIMERS * settings.get(rocksdb.TIMER_CACHE_SIZE) // rocksdb.TIMER_CACHE_SIZE.default
        ),
    )


def _ratio(settings: Settings, option: Any) -> float:
    ratio = float(settings.get(option))
    if not 0 <= ratio < 1:
        raise ConfigurationError(f"{option.key} must be at least 0 and less than 1, got {ratio}")
    return ratio


def _memory_per_slot(settings: Settings) -> int | None:
    """What the databases of a slot share: a fixed size, or the slot's managed memory; None if they share nothing."""
    slots = max(1, settings.get(options.TASK_SLOTS))
    fixed = settings.get(rocksdb.MEMORY_PER_SLOT)
    per_worker = settings.get(rocksdb.MEMORY_PER_WORKER)
    if fixed or per_worker:
        return int(fixed or per_worker // slots)
    if not settings.get(rocksdb.IS_MEMORY_MANAGED):
        return None
    managed = settings.get(memory.MANAGED_SIZE)
    if settings.is_set(memory.WORKER_SIZE) or settings.is_set(memory.WORKER_PROCESS_SIZE):
        managed = worker_memory(settings).managed
    if managed is None:
        return RocksDBSettings().memory_bytes
    if not managed:
        raise ConfigurationError(
            f"without managed memory ({memory.MANAGED_SIZE.key}) RocksDB has none: give it some, set "
            f"{rocksdb.IS_MEMORY_MANAGED.key} to false, or use the backend hashmap"
        )
    return int(managed // slots)


def _tuning(settings: Settings) -> tuple[tuple[str, Any], ...]:
    tuning = {
        option.key.removeprefix(rocksdb.PREFIX): settings.get(option)
        for option in rocksdb.TUNING
        if settings.is_set(option)
    }
    if "compression.per.level" in tuning:
        tuning["compression.per.level"] = _compressions(tuning["compression.per.level"])
    if "thread.num" in tuning:
        tuning["thread.num"] = max(1, tuning["thread.num"])
    return tuple(tuning.items())


def _compressions(names: list[str]) -> tuple[str, ...]:
    chosen = tuple(name.strip().upper() for name in names) or ("NO_COMPRESSION",)
    for name in chosen:
        if name not in COMPRESSIONS:
            raise ConfigurationError(f"unknown RocksDB compression '{name}'; expected one of {', '.join(COMPRESSIONS)}")
    return chosen


def _options_factory(text: str | None) -> bytes | None:
    if not text:
        return None
    if not text.startswith(PICKLED_FACTORY):
        raise ConfigurationError(f"the options factory '{text}' was not loaded; give it to the environment")
    return base64.b64decode(text.removeprefix(PICKLED_FACTORY))


def _local_directories(text: str | None) -> tuple[str, ...]:
    separators = f"[,|{re.escape(os.pathsep)}]"
    return tuple(part.strip() for part in re.split(separators, text or "") if part.strip())
