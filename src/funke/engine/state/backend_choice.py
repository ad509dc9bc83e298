"""Which state backend a job uses, and how it is set up; travels with the job to its slots."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from funke.engine.errors import ConfigurationError
from funke.engine.state.heap.backend import HashMapBackend
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.rocksdb.settings import RocksDBSettings
from funke.engine.state.state_latency import LatencyTracking
from funke.engine.trust.private_files import open_private_folder
from funke.engine.trust.run_folders import run_folder
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["BackendChoice", "RocksDBSettings", "create_backend"]


@dataclass(frozen=True)
class BackendChoice:
    """A backend by its name, with its settings."""

    name: str = "hashmap"
    rocksdb: RocksDBSettings = field(default_factory=RocksDBSettings)
    # Where the working files of RocksDB stand; the slot's own folder if there is none.
    local_directories: tuple[str, ...] = ()
    # Whether processing goes on while a checkpoint is written.
    is_asynchronous: bool = True
    # What a checkpoint takes of one operator's keyed state, or of its other state, in one subtask; None for any size.
    max_state_bytes: int | None = None
    # None: the latency of accesses is not measured.
    latency_tracking: LatencyTracking | None = None

    def within(self, folder: str) -> BackendChoice:
        """The same choice, with working files in a folder unless there is another place for them."""
        return self if self.local_directories else replace(self, local_directories=(folder,))

    def folder_for(self, job_id: str, operator_id: str, subtask: int, attempt: int) -> str | None:
        """A folder for the working files of one operator; None for a backend without files."""
        if self.name != "rocksdb":
            return None
        directories = self.local_directories or (run_folder(),)
        chosen = directories[subtask % len(directories)]
        name = f"funke-rocksdb-{job_id}-{operator_id}-{subtask}-{attempt}-{uuid.uuid4().hex}".replace(os.sep, "_")
        return os.path.join(chosen, name)


def create_backend(
    choice: BackendChoice, key_groups: KeyGroups, now_ms: Callable[[], int], folder: str | None
) -> KeyedBackend:
    """Makes an empty backend; RocksDB's working files go into `folder`, which must not be there yet."""
    if choice.name == "hashmap":
        return HashMapBackend(key_groups, now_ms)
    if choice.name != "rocksdb" or folder is None:
        raise ConfigurationError(f"unknown state backend '{choice.name}'; expected hashmap or rocksdb")
    # Not at the top: a slot starts faster without what its job does not use.
    from funke.engine.state.rocksdb.backend import RocksDBBackend

    _remove_older(folder)
    open_private_folder(folder)
    return RocksDBBackend(key_groups, now_ms, folder, choice.rocksdb)


def _remove_older(folder: str) -> None:
    """Removes what earlier attempts of the same subtask have left on this machine when they were killed."""
    parent, name = os.path.split(folder)
    owner, _, attempt = name.rpartition("-")[0].rpartition("-")
    if not owner or not attempt.isdigit() or not os.path.isdir(parent):
        return
    for other in os.listdir(parent):
        other_owner, _, other_attempt = other.rpartition("-")[0].rpartition("-")
        if other_owner == owner and other_attempt.isdigit() and int(other_attempt) < int(attempt):
            shutil.rmtree(os.path.join(parent, other), ignore_errors=True)
