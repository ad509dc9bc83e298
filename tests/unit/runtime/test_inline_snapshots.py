"""Small state in the metadata of a checkpoint instead of files, and copies of files that are nearer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from funke.engine.connectors.named_file import open_to_write
from funke.engine.jobs.checkpoints.checkpoints import (
    Checkpoint,
    OperatorEntry,
    read_checkpoint,
    verify_files,
    write_checkpoint,
)
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint
from funke.engine.runtime.snapshots import chain_snapshot
from funke.engine.runtime.snapshots.chain_snapshot import ChainSnapshot
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from funke.engine.runtime.snapshots.local_copies import LocalCopies
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.runtime.snapshots.state_restore import RestoreFailure, SubtaskRange, restore_chain
from funke.engine.state_processor.savepoint_writing import Changes, copy_commands, copy_snapshot_file
from funke.engine.state_processor.state_parts import keyed_pieces, own_pieces, read_chunks, read_own
from tests.unit.runtime.snapshots.test_state_restore import GROUPS, Remembering, chain_of

EVERYTHING = {f"key {group}": group for group in range(GROUPS)}


def written(folder: Path, inline_bytes: int, parallelism: int = 2) -> list[SnapshotHandle]:
    command = CheckpointCommand(1, str(folder), inline_bytes=inline_bytes)
    handles = []
    for subtask in range(parallelism):
        subtask_range = SubtaskRange(subtask, parallelism, GROUPS)
        operator = Remembering([subtask], [group for group in range(GROUPS) if subtask_range.owns(group)])
        handle = ChainSnapshot(command, str(folder), f"1-{subtask}-0").write(chain_of(operator), subtask, parallelism)
        assert handle is not None
        handles.append(handle)
    return handles


def checkpoint(folder: Path, handles: list[SnapshotHandle]) -> Checkpoint:
    entry = OperatorEntry("op", "sum", 2, GROUPS)
    return write_checkpoint(str(folder), Checkpoint("job", 1, 5, snapshots=tuple(handles), operators={"op": entry}))


def restored(handles: tuple[SnapshotHandle, ...], parallelism: int, folder: Path, copies: LocalCopies | None = None):
    operators = [Remembering() for _ in range(parallelism)]
    for subtask, operator in enumerate(operators):
        restore_chain(chain_of(operator), handles, SubtaskRange(subtask, parallelism, GROUPS), str(folder), copies)
    return operators


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_small_state_needs_no_file(tmp_path: Path, parallelism: int) -> None:
    folder = tmp_path / "chk-1"
    checkpoints = checkpoint(folder, written(folder, inline_bytes=20 << 10))
    assert [path.name for path in folder.iterdir()] == ["_metadata"]
    verify_files(checkpoints)
    assert checkpoints.state_size == sum(handle.size for handle in checkpoints.snapshots) > 0
    operators = restored(checkpoints.located(), parallelism, tmp_path)
    assert {key: value for operator in operators for key, value in operator.keyed.items()} == EVERYTHING
    assert sorted(own for operator in operators for own in operator.own) == [0, 1]


def test_state_beyond_the_threshold_is_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "chk-1"
    (small, large) = (written(folder, size, 1)[0] for size in (20 << 10, 0))
    assert small.inline is not None and small.size == len(small.inline)
    assert large.inline is None and (folder / "1-0-0").read_bytes() == small.inline, "the same in both places"
    exact = written(tmp_path / "exact", small.size, 1)[0]
    assert exact.inline == small.inline and not (tmp_path / "exact").exists()
    assert written(folder, small.size - 1, 1)[0].inline is None
    assert not list(folder.glob("*.part"))


def test_damage_is_reported(tmp_path: Path) -> None:
    handles = written(tmp_path, 20 << 10)
    content = handles[0].inline
    assert content is not None
    damaged = replace(handles[0], inline=content[:40] + b"?" + content[41:]).within(str(tmp_path))
    with pytest.raises(RestoreFailure, match="1-0-0"):
        restored((damaged,), 1, tmp_path)


def test_the_state_processor_reads_and_copies_it(tmp_path: Path) -> None:
    folder = tmp_path / "savepoint"
    checkpoint(folder, written(folder, 20 << 10))
    savepoint = open_savepoint(str(folder / "_metadata"))
    assert _content(savepoint) == EVERYTHING
    assert [read_own(piece) for piece in own_pieces(savepoint, "op")] == [[0], [1]]

    for number, renamed in enumerate([{}, {"op": OperatorEntry("new", "sum", 2, GROUPS)}]):
        copy = tmp_path / f"copy-{number}"
        commands = copy_commands(str(copy), savepoint, Changes(renamed=renamed))
        entries = {
            "op": OperatorEntry("op", "sum", 2, GROUPS),
            **{entry.operator_id: entry for entry in renamed.values()},
        }
        snapshots = tuple(copy_snapshot_file(command) for command in commands)
        write_checkpoint(str(copy), Checkpoint("job", 1, 5, snapshots=snapshots, operators=entries))
        verify_files(read_checkpoint(str(copy)))
        assert _content(open_savepoint(str(copy)), "new" if renamed else "op") == EVERYTHING


def _content(savepoint: Savepoint, operator_id: str = "op") -> dict[str, int]:
    chunks = (chunk for piece in keyed_pieces(savepoint, operator_id) for chunk in read_chunks(piece))
    return {key: value for _, part in chunks for table in part.tables.values() for key, value in table.items()}


def test_a_copy_is_read_instead_of_the_original_if_it_is_intact(tmp_path: Path) -> None:
    spool, far = tmp_path / "spool" / "chk-1", tmp_path / "far" / "chk-1"
    handles = written(spool, 0)
    copies = LocalCopies([str(tmp_path / "near")], "job", 0, 0)
    copies.keep(1, str(far), handles, str(spool))
    located = tuple(handle.within(str(far)) for handle in handles)
    (operator,) = restored(located, 1, tmp_path, copies)
    assert operator.keyed == EVERYTHING, "there is nothing in the far place"

    written(far, 0)
    for path in (tmp_path / "near").rglob("1-0-0.*"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    (operator,) = restored(located, 1, tmp_path, copies)
    assert operator.keyed == EVERYTHING, "one near, one far"


def test_files_are_written_through_a_buffer_of_the_configured_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def opened(path: str, mode: str, buffer_bytes: int, opener: Callable[[str, int], int]) -> BinaryIO:
        sizes.append(buffer_bytes)
        return open_to_write(path, mode, buffer_bytes, opener)

    monkeypatch.setattr(chain_snapshot, "open_to_write", opened)
    command = CheckpointCommand(1, str(tmp_path), buffer_bytes=8 << 10)
    ChainSnapshot(command, str(tmp_path), "1-0-0").write(chain_of(Remembering([1])), 0, 1)
    assert sizes == [8 << 10]
