"""Writes the state of a subtask's operators into a snapshot file, and into files that later checkpoints share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from funke.engine.operators.chain import OperatorChain
from funke.engine.runtime.checkpoint_order import CheckpointOrder
from funke.engine.runtime.snapshot_files import NativeFile, SnapshotHandle, copy_file, join_path
from funke.engine.state.native_files import LocalFile
from funke.engine.state.snapshot_format import GroupPart, SnapshotWriter

__all__ = ["SHARED", "ChainSnapshot"]

# Beside the folders of checkpoints.
SHARED = "../shared/"


@dataclass
class ChainSnapshot:
    """One subtask's part of a checkpoint; `known` are shared files that a completed checkpoint has already."""

    order: CheckpointOrder
    folder: str
    name: str
    known: frozenset[str] = frozenset()
    # What was written, as opposed to what the checkpoint consists of.
    new_bytes: int = 0
    _owners: dict[str, None] = field(default_factory=dict)
    _native: list[tuple[str, tuple[NativeFile, ...]]] = field(default_factory=list)

    def write(self, chain: OperatorChain, subtask: int, parallelism: int) -> SnapshotHandle | None:
        """Writes everything; None, and no file, when no operator of the chain has state."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, self.name)
        part = f"{path}.part"
        with open(part, "wb", 1 << 20) as out:
            writer = SnapshotWriter(out, self.order.compress)
            for operator_id, own in chain.snapshot().items():
                writer.write_own(operator_id, own)
                self._owners[operator_id] = None
            for operator_id, key_group, content in self._keyed(chain):
                writer.write_keyed(operator_id, key_group, content)
                self._owners[operator_id] = None
            size = writer.finish()
            out.flush()
            os.fsync(out.fileno())
        if not self._owners:
            os.unlink(part)
            return None
        os.rename(part, path)
        self.new_bytes += size
        return SnapshotHandle(tuple(self._owners), subtask, parallelism, self.name, size, tuple(self._native))

    def _keyed(self, chain: OperatorChain) -> Iterator[tuple[str, int, GroupPart]]:
        for spec in chain.specs:
            operator = chain.operators.get(spec.node_id)
            if operator is None:
                continue
            files = operator.native_files() if self.order.is_incremental else ()
            if files:
                copied = tuple(self._copied(spec.operator_id, file) for file in files)
                self._native.append((spec.operator_id, copied))
                self._owners[spec.operator_id] = None
            for group, part in operator.snapshot_timers() if files else operator.snapshot_keyed():
                yield spec.operator_id, group, part

    def _copied(self, operator_id: str, file: LocalFile) -> NativeFile:
        size = os.path.getsize(file.path)
        own_name = f"{self.name}-{operator_id}-{file.name}"
        target = own_name if file.shared_id is None else f"{SHARED}{file.shared_id}"
        if target not in self.known:
            copy_file(file.path, join_path(self.folder, target))
            self.new_bytes += size
        return NativeFile(target, file.name, size)
