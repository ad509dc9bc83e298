"""The state backends under test: what holds for one must hold for the other."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace

from funke.engine.state.backend_choice import BackendChoice, RocksDBSettings, create_backend
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.types.keys.key_groups import KeyGroups

BACKENDS = ("hashmap", "rocksdb", "rocksdb-without-cache")
# Little memory, so that many databases can be open at once.
_SMALL = RocksDBSettings(memory_bytes=16 << 20)
_CHOICES = {
    "hashmap": BackendChoice(),
    "rocksdb": BackendChoice("rocksdb", _SMALL),
    # Every entry goes through RocksDB, and so do nearly all timers.
    "rocksdb-without-cache": BackendChoice("rocksdb", replace(_SMALL, cached_entries=0, cached_timers=2)),
    # Files stay as they were written.
    "rocksdb-without-compaction": BackendChoice("rocksdb", replace(_SMALL, tuning=(("compaction.style", "NONE"),))),
}


# RocksDB waits for the disk whenever it makes files.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def choice_of(name: str) -> BackendChoice:
    """A backend's choice by its name here."""
    return replace(_CHOICES[name], local_directories=(IN_MEMORY,))


@contextlib.contextmanager
def backend_factory(name: str) -> Iterator[Callable[..., KeyedBackend]]:
    """Makes backends of one kind, and closes them at the end."""
    backends: list[KeyedBackend] = []
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:

        def make(max_parallelism: int = 128, now_ms: Callable[[], int] = lambda: 0) -> KeyedBackend:
            own = f"{folder}/{len(backends)}"
            backends.append(create_backend(choice_of(name), KeyGroups(max_parallelism), now_ms, own))
            return backends[-1]

        try:
            yield make
        finally:
            for backend in backends:
                backend.close()
