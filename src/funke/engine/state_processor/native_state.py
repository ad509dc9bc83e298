"""State in RocksDB's own files, as incremental checkpoints keep it: opened as a database, or read in chunks."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence

from funke.engine.errors import StateError
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, fetch_native
from funke.engine.state.backend_choice import BackendChoice, create_backend
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["native_backend", "native_parts"]


@contextlib.contextmanager
def native_backend(files: Sequence[NativeFile], key_groups: KeyGroups) -> Iterator[KeyedBackend]:
    """A backend that works on a copy of the files, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="funke-native-") as folder:
        backend = create_backend(
            BackendChoice("rocksdb"), key_groups, lambda: int(time.time() * 1000), os.path.join(folder, "work")
        )
        try:
            _load(backend, files, os.path.join(folder, "files"), key_groups)
            yield backend
        finally:
            backend.close()


def _load(backend: KeyedBackend, files: Sequence[NativeFile], folder: str, key_groups: KeyGroups) -> None:
    for file in files:
        fetch_native(file, os.path.join(folder, file.name))
    try:
        backend.restore_native([folder], range(key_groups.max_parallelism))
        # From now on `snapshot_parts` finds everything.
        backend.prepare_snapshot(1)
    except StateError:
        raise
    except Exception as error:
        raise StateError(f"the RocksDB files of '{files[0].path}' and beside it cannot be read: {error}") from error


def native_parts(files: Sequence[NativeFile], key_groups: KeyGroups) -> Iterator[tuple[int, GroupPart]]:
    """All state in the files, one key group after the other, in chunks."""
    with native_backend(files, key_groups) as backend:
        yield from backend.snapshot_parts()
