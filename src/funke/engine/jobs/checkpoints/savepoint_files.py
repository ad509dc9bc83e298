"""A savepoint, or a checkpoint that was kept, as files: whose state it holds, and where."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry, read_checkpoint
from funke.engine.runtime.snapshots.snapshot_files import (
    SnapshotHandle,
    copy_file,
    local_path,
    open_for_reading,
    open_snapshot_file,
)
from funke.engine.state.snapshot.file_format import SnapshotReader, SnapshotWriter
from funke.engine.trust.private_files import make_private_folders, private_opener
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["Savepoint", "copy_snapshot", "open_savepoint", "open_snapshot", "write_snapshot"]

T = TypeVar("T")

_COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Savepoint:
    """The metadata of a savepoint, with its snapshots at their full paths."""

    checkpoint: Checkpoint
    snapshots: tuple[SnapshotHandle, ...]

    @property
    def path(self) -> str:
        """Its folder."""
        return self.checkpoint.path

    def operator(self, operator_id: str) -> OperatorEntry:
        """What is known about an operator that has state here."""
        entry = self.checkpoint.operators.get(operator_id)
        if entry is not None:
            return entry
        parallelism = max((handle.parallelism for handle in self.snapshots_of(operator_id)), default=1)
        return OperatorEntry(operator_id, operator_id, parallelism, max(128, parallelism))

    def key_groups(self, operator_id: str) -> KeyGroups:
        """How the keys of an operator were dealt out."""
        return KeyGroups(self.operator(operator_id).max_parallelism, self.checkpoint.key_hash)

    def stateful_operators(self) -> list[OperatorEntry]:
        """The operators that have state in snapshots, by name."""
        ids = {operator_id for handle in self.snapshots for operator_id in handle.operator_ids}
        return sorted(map(self.operator, ids), key=lambda entry: (entry.name, entry.operator_id))

    def snapshots_of(self, operator_id: str) -> list[SnapshotHandle]:
        """The snapshots that hold state of an operator, by subtask."""
        handles = [handle for handle in self.snapshots if operator_id in handle.operator_ids]
        return sorted(handles, key=lambda handle: handle.subtask)

    def require(self, operator_id: str, asked_for: str) -> OperatorEntry:
        """The operator, which must have state here; `asked_for` is what the user called it."""
        if not self.snapshots_of(operator_id):
            names = ", ".join(f"'{entry.name}' ({entry.operator_id})" for entry in self.stateful_operators())
            raise StateError(
                f"the savepoint '{self.path}' has no state of an operator with {asked_for}; "
                f"operators with state: {names or 'none'}"
            )
        return self.operator(operator_id)


def open_savepoint(path: str) -> Savepoint:
    """Reads the metadata of a savepoint or checkpoint; the path is that of its folder or of the metadata file."""
    checkpoint = read_checkpoint(path)
    return Savepoint(checkpoint, checkpoint.located())


@contextlib.contextmanager
def open_snapshot(path: str, inline: bytes | None = None) -> Iterator[SnapshotReader]:
    """Opens one snapshot."""
    with open_snapshot_file(path, inline) as file:
        yield SnapshotReader(file, path)


def write_snapshot(path: str, fill: Callable[[SnapshotWriter], None]) -> int:
    """Writes a snapshot file that is there completely or not at all; returns its size."""

    def write(out: BinaryIO) -> int:
        writer = SnapshotWriter(out)
        fill(writer)
        return writer.finish()

    return _write_file(path, write)


def copy_snapshot(source: str, target: str) -> None:
    """Copies a snapshot file as it is."""
    with open_for_reading(source) as content:
        _write_file(target, lambda out: shutil.copyfileobj(content, out, _COPY_BYTES))


def _write_file(path: str, write: Callable[[BinaryIO], T]) -> T:
    local = local_path(path)
    try:
        if local is not None:
            make_private_folders(os.path.dirname(local))
            result = _write_local(f"{local}.part", write)
            os.rename(f"{local}.part", local)
            return result
        with tempfile.TemporaryDirectory(prefix="funke-snapshot-") as spool:
            spooled = os.path.join(spool, "snapshot")
            result = _write_local(spooled, write)
            copy_file(spooled, path)
            return result
    except OSError as error:
        raise StateError(f"'{path}' cannot be written: {error}") from error


def _write_local(path: str, write: Callable[[BinaryIO], T]) -> T:
    with open(path, "wb", _COPY_BYTES, opener=private_opener) as out:
        result = write(out)
        out.flush()
        os.fsync(out.fileno())
    return result
