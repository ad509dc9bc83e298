"""Which state backend the configuration chooses, and how it is set up."""

from __future__ import annotations

import os
import re

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError
from funke.engine.state.backend_choice import BackendChoice, RocksDBSettings

__all__ = ["backend_choice"]

# Flink 1.x's names of backends that keep state in memory.
_IN_MEMORY = ("hashmap", "filesystem", "jobmanager", "memory")


def backend_choice(settings: Settings) -> BackendChoice:
    """The backend of a job's keyed state."""
    name = str(settings.get(options.STATE_BACKEND)).lower()
    if name in _IN_MEMORY:
        return BackendChoice()
    if name != "rocksdb":
        raise ConfigurationError(f"'{name}' is no state backend; choose hashmap or rocksdb")
    defaults = RocksDBSettings()
    rocksdb = RocksDBSettings(
        memory_bytes=settings.get(options.ROCKSDB_MEMORY) or defaults.memory_bytes,
        write_buffer_ratio=settings.get(options.ROCKSDB_WRITE_BUFFER_RATIO),
        block_bytes=settings.get(options.ROCKSDB_BLOCK_SIZE),
        background_jobs=max(1, settings.get(options.ROCKSDB_THREADS)),
        has_bloom_filter=settings.get(options.ROCKSDB_BLOOM_FILTER),
        predefined_options=str(settings.get(options.ROCKSDB_PREDEFINED_OPTIONS)).upper(),
    )
    return BackendChoice("rocksdb", rocksdb, _local_directories(settings.get(options.ROCKSDB_LOCAL_DIRECTORY)))


def _local_directories(text: str | None) -> tuple[str, ...]:
    separators = f"[,|{re.escape(os.pathsep)}]"
    return tuple(part.strip() for part in re.split(separators, text or "") if part.strip())
