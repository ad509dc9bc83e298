"""The metadata of a checkpoint or savepoint: written last, by an atomic rename, so that it is complete or not there.

<folder>/<job id>/chk-7/_metadata
<folder>/<job id>/chk-7/<vertex>-<subtask>-<attempt>      the state of one subtask
<folder>/<job id>/shared/…                                files that several checkpoints refer to
<folder>/<job id>/taskowned/                              files that belong to the slots
<folder>/savepoint-<job>-<random>/                        self-contained, with paths relative to itself
"""

from __future__ import annotations

import hashlib
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any

from funke.engine.errors import StateError
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.snapshots.snapshot_files import (
    NativeFile,
    SnapshotHandle,
    delete_folder,
    file_size,
    join_path,
    open_for_reading,
    open_snapshot_file,
    read_bytes,
    require_checksum,
    write_atomically,
)
from funke.engine.state.snapshot.file_format import SnapshotReader
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH

__all__ = [
    "METADATA",
    "Checkpoint",
    "OperatorEntry",
    "dispose_checkpoint",
    "is_committed",
    "mark_committed",
    "read_checkpoint",
    "verify_content",
    "verify_files",
    "write_checkpoint",
]

METADATA = "_metadata"
_COMMITTED = "_committed"
# Files that are read at once: those of an object store take their time.
_READERS = 4
_MAGIC = b"FUNKE CHECKPOINT 2\n"


@dataclass(frozen=True)
class OperatorEntry:
    """An operator as it was when the checkpoint was taken."""

    operator_id: str
    name: str
    parallelism: int
    max_parallelism: int
    has_user_uid: bool = False
    # Whether its state must not get lost when a program is changed.
    is_required: bool = True
    uid: str | None = None
    # What its state means (`StateMeaning.to_text`); None if that is not described.
    meaning: str | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A consistent state of the whole job: after one epoch, before the next.

    The state of sources and sinks is kept as bytes: reading it may need user classes.
    """

    job_id: str
    checkpoint_id: int
    epoch: int
    kind: str = "checkpoint"
    snapshots: tuple[SnapshotHandle, ...] = ()
    # By operator id: where the source stands.
    sources: dict[str, bytes] = field(default_factory=dict)
    # By operator id: what sinks have prepared; committed after this was written, and again after a restart.
    committables: dict[str, bytes] = field(default_factory=dict)
    operators: dict[str, OperatorEntry] = field(default_factory=dict)
    attempt: int = 0
    created_ms: int = field(default_factory=lambda: int(time.time() * 1000))
    # All event-time timers have fired and the input was declared over.
    is_drained: bool = False
    # The plan whose channels had what some of the snapshots hold, if any was on its way; see `Plan.fingerprint`.
    channels_of: str = ""
    # By which hash keys were dealt out to key groups; see `KeyGroups`.
    key_hash: int = NEWEST_KEY_HASH
    # The folder it was read from; not part of what is written.
    path: str = ""

    @property
    def is_final(self) -> bool:
        """The job has read all its input: only committing is left."""
        return self.kind == "final"

    @property
    def state_size(self) -> int:
        """Bytes of everything that a restart would read."""
        return sum(handle.total_size for handle in self.snapshots)

    def located(self) -> tuple[SnapshotHandle, ...]:
        """The snapshots with full paths."""
        return tuple(handle.within(self.path) for handle in self.snapshots)

    def source(self, operator_id: str) -> Any:
        """Where a source stood; None if the checkpoint does not know it."""
        encoded = self.sources.get(operator_id)
        return None if encoded is None else decode(encoded)

    def stateful_ids(self) -> set[str]:
        """The operators that have left anything here."""
        written = {operator_id for handle in self.snapshots for operator_id in handle.operator_ids}
        return written | self.sources.keys() | self.committables.keys()


def write_checkpoint(folder: str, checkpoint: Checkpoint) -> Checkpoint:
    """Writes the metadata into a checkpoint's folder and reads it back."""
    content = encode(_to_plain(checkpoint))
    write_atomically(join_path(folder, METADATA), _MAGIC + hashlib.sha256(content).digest() + content)
    return read_checkpoint(folder)


def read_checkpoint(path: str) -> Checkpoint:
    """Reads and verifies the metadata in a checkpoint's folder; the path may also be that of the file itself."""
    folder = path.rstrip("/").removesuffix(f"/{METADATA}")
    data = read_bytes(join_path(folder, METADATA))
    if not data.startswith(_MAGIC):
        raise StateError(f"'{path}' is not a checkpoint, or one of another version of Funke")
    checksum, content = data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if hashlib.sha256(content).digest() != checksum:
        raise StateError(f"the checkpoint '{path}' is damaged: the checksum of its metadata does not match")
    return replace(_from_plain(pickle.loads(content)), path=folder)


def dispose_checkpoint(path: str) -> None:
    """Removes the folder of a savepoint or checkpoint, if it is one; nothing in it is unpickled."""
    folder = path.rstrip("/").removesuffix(f"/{METADATA}")
    if not read_bytes(join_path(folder, METADATA)).startswith(_MAGIC):
        raise StateError(f"'{path}' is not a checkpoint, or one of another version of Funke")
    delete_folder(folder)


def mark_committed(checkpoint: Checkpoint) -> None:
    """Notes beside a savepoint that its sinks have committed: a job that starts from it need not do so again."""
    write_atomically(join_path(checkpoint.path, _COMMITTED), b"")


def is_committed(checkpoint: Checkpoint) -> bool:
    """Whether the sinks are known to have committed what the checkpoint holds."""
    return file_size(join_path(checkpoint.path, _COMMITTED)) is not None


def verify_files(checkpoint: Checkpoint) -> None:
    """Raises StateError when a snapshot file is missing or has not the size that was written."""
    for handle in checkpoint.located():
        for path, size in handle.files():
            actual_size = file_size(path)
            if actual_size is None:
                raise StateError(f"the checkpoint '{checkpoint.path}' is damaged: '{path}' is missing")
            if actual_size != size:
                raise StateError(
                    f"the checkpoint '{checkpoint.path}' is damaged: '{path}' has {actual_size} bytes instead of {size}"
                )


def verify_content(checkpoint: Checkpoint) -> None:
    """Reads everything that a restart would read; StateError when it is not as it was written."""
    handles = checkpoint.located()
    with ThreadPoolExecutor(_READERS, "funke-verify") as readers:
        checks = [readers.submit(_verify_snapshot, handle.path, handle.inline) for handle in handles]
        natives = {file.path: file for handle in handles for file in handle.native_files()}
        checks += [readers.submit(_verify_native, file) for file in natives.values()]
        for check in checks:
            check.result()


def _verify_snapshot(path: str, inline: bytes | None) -> None:
    with open_snapshot_file(path, inline) as file:
        SnapshotReader(file, path).verify()


def _verify_native(file: NativeFile) -> None:
    if file.checksum is not None:
        with open_for_reading(file.path) as content:
            require_checksum(file, content)


def _to_plain(checkpoint: Checkpoint) -> dict[str, Any]:
    """Dictionaries and tuples only, so that later versions can read it."""
    plain = {item.name: getattr(checkpoint, item.name) for item in fields(checkpoint) if item.name != "path"}
    plain["snapshots"] = [handle.to_plain() for handle in checkpoint.snapshots]
    plain["operators"] = [vars(entry) for entry in checkpoint.operators.values()]
    return plain


def _from_plain(plain: dict[str, Any]) -> Checkpoint:
    snapshots = tuple(SnapshotHandle.from_plain(handle) for handle in plain["snapshots"])
    operators = {entry["operator_id"]: OperatorEntry(**entry) for entry in plain["operators"]}
    # The first version did not write it down.
    key_hash = plain.get("key_hash", FIRST_KEY_HASH)
    if key_hash > NEWEST_KEY_HASH:
        raise StateError(
            f"the checkpoint deals out keys by version {key_hash} of the hash, and this version of Funke knows those "
            f"up to {NEWEST_KEY_HASH}: it was written by a later version, so use that"
        )
    return Checkpoint(**{**plain, "snapshots": snapshots, "operators": operators, "key_hash": key_hash})
