"""Which state backend a job uses, and how it is set up; travels with the job to its slots."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from funke.engine.errors import ConfigurationError
from funke.engine.state.hashmap_backend import HashMapBackend
from funke.engine.state.keyed_backend import KeyedBackend

__all__ = ["BackendChoice", "RocksDBSettings", "create_backend"]

_MIB = 1 << 20


@dataclass(frozen=True)
class RocksDBSettings:
    """What may be set of RocksDB; sizes in bytes, for all states of a slot together."""

    # Blocks read from disk, indexes and filters, and what is not yet written to files.
    memory_bytes: int = 96 * _MIB
    # The part of the memory for what is not yet written to files.
    write_buffer_ratio: float = 0.5
    # Changed entries per state that RocksDB need not have yet; three times as many unchanged ones are kept at hand.
    cached_entries: int = 50_000
    block_bytes: int = 4096
    background_jobs: int = 2
    compression: str = "lz4"
    has_bloom_filter: bool = True
    # Kinds of disks, by Flink's names.
    predefined_options: str = "DEFAULT"


@dataclass(frozen=True)
class BackendChoice:
    """A backend by its name, with its settings."""

    name: str = "hashmap"
    rocksdb: RocksDBSettings = RocksDBSettings()
    # Where the working files of RocksDB stand; the system's folder for temporary files if there is none.
    local_directories: tuple[str, ...] = ()

    def folder_for(self, job_id: str, operator_id: str, subtask: int, attempt: int) -> str | None:
        """A folder for the working files of one operator; None for a backend without files."""
        if self.name != "rocksdb":
            return None
        directories = self.local_directories or (tempfile.gettempdir(),)
        chosen = directories[subtask % len(directories)]
        name = f"funke-rocksdb-{job_id}-{operator_id}-{subtask}-{attempt}-{os.getpid()}".replace(os.sep, "_")
        return os.path.join(chosen, name)


def create_backend(
    choice: BackendChoice, max_parallelism: int, now_ms: Callable[[], int], folder: str | None
) -> KeyedBackend:
    """Makes an empty backend; RocksDB's working files go into `folder`, which is emptied first."""
    if choice.name == "hashmap":
        return HashMapBackend(max_parallelism, now_ms)
    if choice.name != "rocksdb" or folder is None:
        raise ConfigurationError(f"'{choice.name}' is no state backend; choose hashmap or rocksdb")
    # Not at the top: a slot starts faster without what its job does not use.
    from funke.engine.state.rocksdb_backend import RocksDBBackend

    shutil.rmtree(folder, ignore_errors=True)
    return RocksDBBackend(max_parallelism, now_ms, folder, choice.rocksdb)
