"""Writes the state of a subtask's operators into a snapshot file, and into files that later checkpoints share."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from funke.engine.connectors.named_file import open_to_write, sync
from funke.engine.errors import StateError
from funke.engine.operators.chain import OperatorChain
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from funke.engine.runtime.snapshots.snapshot_files import NativeFile, SnapshotHandle, checksum_of, copy_file, join_path
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, SnapshotWriter
from funke.engine.state.snapshot.state_sizes import StateSizes
from funke.engine.trust.private_files import make_private_folders, private_opener

__all__ = ["IN_FLIGHT", "SHARED", "ChainSnapshot", "write_in_flight"]

# Beside the folders of checkpoints.
SHARED = "../shared/"
# Stands in place of an operator, for what was on its way.
IN_FLIGHT = "in flight"


@dataclass
class ChainSnapshot:
    """One subtask's part of a checkpoint; `known` are shared files that a completed one has, with their checksums."""

    command: CheckpointCommand
    folder: str
    name: str
    known_files: Mapping[str, int | None] = field(default_factory=dict)
    # What may be written of one operator's keyed state, and of its other state; None for any size.
    max_state_bytes: int | None = None
    # What was written, as opposed to what the checkpoint consists of.
    new_bytes: int = 0
    # What it holds, by state.
    states: StateSizes = field(default_factory=StateSizes)
    _owners: dict[str, None] = field(default_factory=dict)
    _native: list[tuple[str, tuple[NativeFile, ...]]] = field(default_factory=list)

    def write(self, chain: OperatorChain, subtask: int, parallelism: int) -> SnapshotHandle | None:
        """Writes everything; None, and no file, when no operator of the chain has state."""
        out = _SnapshotOutput(
            os.path.join(self.folder, self.name), self.command.inline_bytes, self.command.buffer_bytes
        )
        with contextlib.closing(out):
            writer = SnapshotWriter(cast(BinaryIO, out), self.command.compress)
            sizes: Counter[tuple[str, str]] = Counter()
            for operator_id, own in chain.snapshot().items():
                size = writer.write_own(operator_id, own)
                sizes[operator_id, "state"] += size
                self.states.add_own(operator_id, own, size)
            for operator_id, key_group, content in self._keyed(chain):
                size = writer.write_keyed(operator_id, key_group, content)
                sizes[operator_id, "keyed state"] += size
                self.states.add_part(operator_id, content, size)
            for operator_id, files in self._native:
                sizes[operator_id, "keyed state"] += sum(file.size for file in files)
            self._owners.update((operator_id, None) for operator_id, _ in sizes)
            self._require_sizes(chain, sizes)
            if not self._owners:
                return None
            size = writer.finish()
            inline = out.finish()
        self.new_bytes += size
        native, types = tuple(self._native), tuple(self._types(chain))
        return SnapshotHandle(tuple(self._owners), subtask, parallelism, self.name, size, native, inline, types)

    def _types(self, chain: OperatorChain) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
        for spec in chain.specs:
            types = chain.operators[spec.node_id].state_types()
            if types and spec.operator_id in self._owners:
                yield spec.operator_id, tuple(sorted(types.items()))

    def _keyed(self, chain: OperatorChain) -> Iterator[tuple[str, int, GroupPart]]:
        for spec in chain.specs:
            operator = chain.operators[spec.node_id]
            files = operator.native_files() if self.command.is_incremental else ()
            if files:
                copied = tuple(self._copied(spec.operator_id, file) for file in files)
                self._native.append((spec.operator_id, copied))
                self.states.add_files(spec.operator_id, files, sum(file.size for file in copied))
            for group, part in operator.snapshot_timers() if files else operator.snapshot_keyed():
                yield spec.operator_id, group, part

    def _require_sizes(self, chain: OperatorChain, sizes: Mapping[tuple[str, str], int]) -> None:
        for (operator_id, kind), size in sizes.items():
            if self.max_state_bytes is not None and size > self.max_state_bytes:
                name = next(spec.name for spec in chain.specs if spec.operator_id == operator_id)
                raise StateError(
                    f"the {kind} of operator '{name}' takes {size} bytes in one subtask, and the "
                    f"checkpoint storage 'jobmanager' allows {self.max_state_bytes}; use FileSystemCheckpointStorage, "
                    "or raise max_state_size"
                )

    def _copied(self, operator_id: str, file: LocalFile) -> NativeFile:
        size = os.path.getsize(file.path)
        own_name = f"{self.name}-{operator_id}-{file.name}"
        target = own_name if file.shared_id is None else f"{SHARED}{file.shared_id}"
        if target not in self.known_files:
            copy_file(file.path, join_path(self.folder, target))
            self.new_bytes += size
        checksum = self.known_files.get(target)
        return NativeFile(target, file.name, size, checksum_of(file.path) if checksum is None else checksum)


def write_in_flight(command: CheckpointCommand, folder: str, name: str, slot: int, content: Any) -> SnapshotHandle:
    """Writes what is on its way from and to the subtasks of a slot; no operator owns it."""
    out = _SnapshotOutput(os.path.join(folder, name), command.inline_bytes, command.buffer_bytes)
    with contextlib.closing(out):
        writer = SnapshotWriter(cast(BinaryIO, out), command.compress)
        writer.write_own(IN_FLIGHT, content)
        size = writer.finish()
        return SnapshotHandle((), slot, 1, name, size, inline=out.finish())


class _SnapshotOutput:
    """Keeps what is written in memory as long as it is little; then it becomes a file, complete or not at all."""

    def __init__(self, path: str, inline_bytes: int, buffer_bytes: int) -> None:
        self._path = path
        self._inline_bytes = inline_bytes
        self._buffer_bytes = buffer_bytes
        self._held = bytearray()
        self._file: BinaryIO | None = None

    def write(self, data: bytes) -> int:
        """Takes a piece."""
        if self._file is not None:
            return self._file.write(data)
        self._held += data
        if len(self._held) > self._inline_bytes:
            make_private_folders(os.path.dirname(self._path))
            self._file = open_to_write(f"{self._path}.part", "w", self._buffer_bytes, private_opener)
            self._file.write(self._held)
        return len(data)

    def finish(self) -> bytes | None:
        """Everything, if it is little; else None, and the file is there."""
        if self._file is None:
            return bytes(self._held)
        sync(self._file)
        os.rename(f"{self._path}.part", self._path)
        return None

    def close(self) -> None:
        """Removes what was not finished."""
        if self._file is not None:
            self._file.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._path}.part")
