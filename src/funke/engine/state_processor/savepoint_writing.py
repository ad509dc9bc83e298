"""Makes a savepoint: files of an earlier one, without what was removed, and new snapshots."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from funke.engine.errors import StateError
from funke.engine.jobs.checkpoints.checkpoints import METADATA, Checkpoint, OperatorEntry, write_checkpoint
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, copy_snapshot, write_snapshot
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle, file_size, join_path
from funke.engine.state.snapshot.file_format import SnapshotWriter
from funke.engine.state_processor.state_parts import piece_of, pieces_of_file, read_chunks, read_own
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["Changes", "CopyCommand", "copy_commands", "copy_snapshot_file", "reject_existing", "write_metadata"]


@dataclass
class Changes:
    """What becomes of the operators of an earlier savepoint, by the id they had."""

    removed: set[str] = field(default_factory=set)
    renamed: dict[str, OperatorEntry] = field(default_factory=dict)

    def id_of(self, operator_id: str) -> str | None:
        """The new id of an operator; None when it is gone."""
        if operator_id in self.removed:
            return None
        renamed = self.renamed.get(operator_id)
        return operator_id if renamed is None else renamed.operator_id


@dataclass(frozen=True)
class CopyCommand:
    """One snapshot file to copy, with the new id of every operator in it that stays."""

    handle: SnapshotHandle
    folder: str
    name: str
    new_ids: Mapping[str, str]
    key_groups: KeyGroups


def reject_existing(folder: str) -> None:
    """A savepoint is never written over another."""
    if file_size(join_path(folder, METADATA)) is not None:
        raise StateError(f"there is a savepoint in '{folder}' already; choose another folder")


def copy_commands(folder: str, base: Savepoint, changes: Changes) -> list[CopyCommand]:
    """What is to be copied of an earlier savepoint, file by file."""
    if base.checkpoint.channels_of:
        raise StateError(
            f"the barriers of the checkpoint '{base.path}' have overtaken records, which would be lost; take a "
            "savepoint of the job, and change that"
        )
    commands = []
    for number, handle in enumerate(base.snapshots):
        new_ids = {old: new for old in handle.operator_ids if (new := changes.id_of(old)) is not None}
        if new_ids:
            # All operators of one chain have the same key groups.
            key_groups = base.key_groups(handle.operator_ids[0])
            commands.append(CopyCommand(handle, folder, f"kept-{number}", new_ids, key_groups))
    return commands


def copy_snapshot_file(command: CopyCommand) -> SnapshotHandle:
    """Copies one file: as it is, or without what is gone and under the new ids."""
    handle, target = command.handle, join_path(command.folder, command.name)
    is_unchanged = command.new_ids == {operator_id: operator_id for operator_id in handle.operator_ids}
    if is_unchanged and not handle.native:
        if handle.inline is None:
            copy_snapshot(handle.path, target)
        return replace(handle, path=command.name)
    size = write_snapshot(target, lambda writer: _transfer(command, writer))
    ids = tuple(command.new_ids.values())
    return replace(handle, operator_ids=ids, path=command.name, size=size, native=(), inline=None)


def _transfer(command: CopyCommand, writer: SnapshotWriter) -> None:
    for old, new in command.new_ids.items():
        own = read_own(piece_of(command.handle, old, command.key_groups))
        if own is not None:
            writer.write_own(new, own)
        for piece in pieces_of_file(command.handle, old, command.key_groups):
            for key_group, part in read_chunks(piece):
                writer.write_keyed(new, key_group, part)


def write_metadata(
    folder: str,
    base: Savepoint | None,
    changes: Changes,
    snapshots: Sequence[SnapshotHandle],
    added: Sequence[OperatorEntry],
) -> Checkpoint:
    """Completes the savepoint: from now on a job can start from it."""
    checkpoint = Checkpoint(secrets.token_hex(16), 1, 0) if base is None else base.checkpoint
    operators = {
        new: changes.renamed.get(old, entry)
        for old, entry in checkpoint.operators.items()
        if (new := changes.id_of(old)) is not None
    }
    return write_checkpoint(
        folder,
        replace(
            checkpoint,
            kind="savepoint",
            created_ms=int(time.time() * 1000),
            snapshots=tuple(snapshots),
            sources=_kept(checkpoint.sources, changes),
            committables=_kept(checkpoint.committables, changes),
            operators={**operators, **{entry.operator_id: entry for entry in added}},
        ),
    )


def _kept(by_operator: Mapping[str, bytes], changes: Changes) -> dict[str, bytes]:
    return {new: content for old, content in by_operator.items() if (new := changes.id_of(old)) is not None}
