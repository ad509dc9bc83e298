"""Savepoints as files: copied whole or in part, never written over, and damage is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from funke.common import Types
from funke.datastream import RuntimeContext
from funke.datastream.state import ValueStateDescriptor
from funke.engine.errors import StateError
from funke.engine.graph.operations import Process
from funke.engine.jobs.checkpoints.checkpoints import OperatorEntry, read_checkpoint, write_checkpoint
from funke.engine.jobs.checkpoints.savepoint_files import Savepoint, open_savepoint, write_snapshot
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.state.snapshot.file_format import GroupPart, SnapshotWriter, TableId
from funke.engine.state_processor.savepoint_writing import (
    Changes,
    copy_commands,
    copy_snapshot_file,
    reject_existing,
    write_metadata,
)
from funke.engine.state_processor.state_parts import PIECE_BYTES, keyed_pieces, read_chunks, read_own
from funke.state_api import KeyedStateBootstrapFunction
from tests.unit.state_processor.savepoint_making import MAX_PARALLELISM, OPERATOR_ID, savepoint_of, write_state

# Enough for all key groups.
COUNT = 120


class Keep(KeyedStateBootstrapFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("kept", Types.STRING()))

    def process_element(self, value: int, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.state.update(f"value {value}")


def itself(value: int) -> int:
    return value


@pytest.fixture
def savepoint(tmp_path: Path) -> Savepoint:
    folder = tmp_path / "first"
    handles = write_state(folder, Process(Keep(), itself), list(range(COUNT)), key=itself, parallelism=2)
    return savepoint_of(folder, handles)


def values_of(savepoint: Savepoint, operator_id: str) -> dict[int, Any]:
    return {
        key: value
        for piece in keyed_pieces(savepoint, operator_id)
        for _, part in read_chunks(piece)
        for table in part.tables.values()
        for key, value in table.items()
    }


def copied(base: Savepoint, folder: Path, changes: Changes) -> Savepoint:
    handles = [copy_snapshot_file(command) for command in copy_commands(str(folder), base, changes)]
    write_metadata(str(folder), base, changes, handles, [])
    return open_savepoint(str(folder))


def test_a_copy_is_independent_of_the_first(savepoint: Savepoint, tmp_path: Path) -> None:
    second = copied(savepoint, tmp_path / "second", Changes())
    for handle in savepoint.snapshots:
        Path(handle.path).unlink()
    assert values_of(second, OPERATOR_ID) == {value: f"value {value}" for value in range(COUNT)}
    assert second.stateful_operators() == savepoint.stateful_operators()


def test_a_savepoint_can_be_moved(savepoint: Savepoint, tmp_path: Path) -> None:
    Path(savepoint.path).rename(tmp_path / "moved")
    assert len(values_of(open_savepoint(str(tmp_path / "moved")), OPERATOR_ID)) == COUNT
    assert len(values_of(open_savepoint(str(tmp_path / "moved" / "_metadata")), OPERATOR_ID)) == COUNT


@pytest.fixture
def two_operators(tmp_path: Path) -> Savepoint:
    """A snapshot file with the state of two operators, one of which has operator state too; and a source."""

    def fill(writer: SnapshotWriter) -> None:
        table = TableId("kept", None, False, "value")
        writer.write_own("one", "own state")
        for group in (1, 2):
            writer.write_keyed("one", group, GroupPart({table: {group: f"one {group}"}}, [(9, group)], []))
            writer.write_keyed("two", group, GroupPart({table: {group: f"two {group}"}}, [], []))

    folder = tmp_path / "first"
    size = write_snapshot(str(folder / "file"), fill)
    handle = SnapshotHandle(("one", "two"), 0, 1, "file", size)
    write_checkpoint(
        str(folder),
        replace(_checkpoint(handle), sources={"source": b"position"}, committables={"two": b"prepared"}),
    )
    return open_savepoint(str(folder))


def _checkpoint(*handles: SnapshotHandle) -> Any:
    from funke.engine.jobs.checkpoints.checkpoints import Checkpoint

    entries = {name: OperatorEntry(name, name.upper(), 1, MAX_PARALLELISM) for name in ("one", "two", "source")}
    return Checkpoint("job", 7, 30, "checkpoint", handles, operators=entries)


def test_a_removed_operator_leaves_nothing_behind(two_operators: Savepoint, tmp_path: Path) -> None:
    second = copied(two_operators, tmp_path / "second", Changes(removed={"two"}))
    assert values_of(second, "one") == {1: "one 1", 2: "one 2"}
    assert second.checkpoint.stateful_ids() == {"one", "source"}
    assert second.checkpoint.sources == {"source": b"position"}
    assert set(second.checkpoint.operators) == {"one", "source"}
    assert b"two" not in Path(second.snapshots[0].path).read_bytes()
    assert (second.checkpoint.kind, second.checkpoint.epoch) == ("savepoint", 30)


def test_a_renamed_operator_has_all_its_state_under_the_new_id(two_operators: Savepoint, tmp_path: Path) -> None:
    renamed = {
        "one": OperatorEntry("new", "ONE", 1, MAX_PARALLELISM, has_user_uid=True, uid="uid"),
        "source": OperatorEntry("s2", "S", 1, 16),
    }
    second = copied(two_operators, tmp_path / "second", Changes(renamed=renamed))
    assert values_of(second, "new") == {1: "one 1", 2: "one 2"}
    assert values_of(second, "two") == {1: "two 1", 2: "two 2"}
    (first_piece,) = keyed_pieces(second, "new")
    assert read_own(first_piece) == "own state"
    assert [part.event_timers for _, part in read_chunks(first_piece)] == [[(9, 1)], [(9, 2)]]
    assert second.checkpoint.sources == {"s2": b"position"}
    assert second.operator("new").uid == "uid"


def test_a_savepoint_is_never_written_over(savepoint: Savepoint) -> None:
    with pytest.raises(StateError, match=r"there is a savepoint in .* already"):
        reject_existing(savepoint.path)


def test_large_files_are_read_in_several_pieces(savepoint: Savepoint) -> None:
    handles = tuple(replace(handle, size=4 * PIECE_BYTES) for handle in savepoint.snapshots)
    pieces = keyed_pieces(replace(savepoint, snapshots=handles), OPERATOR_ID)
    assert len(pieces) == 8
    assert sorted(group for piece in pieces for group in piece.groups) == list(range(MAX_PARALLELISM))
    assert len(values_of(replace(savepoint, snapshots=handles), OPERATOR_ID)) == COUNT


def test_an_unknown_operator_is_rejected_with_the_known_ones(savepoint: Savepoint) -> None:
    with pytest.raises(StateError, match=rf"no state of an operator with uid 'x'; .*'Operator' \({OPERATOR_ID}\)"):
        savepoint.require("unknown", "uid 'x'")


def test_a_damaged_file_is_named(savepoint: Savepoint) -> None:
    path = Path(savepoint.snapshots[0].path)
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StateError, match=rf"{path.name}' is damaged: the checksum"):
        values_of(savepoint, OPERATOR_ID)


def test_a_truncated_file_is_named(savepoint: Savepoint) -> None:
    path = Path(savepoint.snapshots[0].path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(StateError, match=rf"{path.name}' is truncated or damaged"):
        keyed_pieces(savepoint, OPERATOR_ID)


def test_a_missing_file_is_named(savepoint: Savepoint) -> None:
    path = Path(savepoint.snapshots[0].path)
    path.unlink()
    with pytest.raises(StateError, match=rf"{path.name}' cannot be read"):
        keyed_pieces(savepoint, OPERATOR_ID)


def test_damaged_metadata_is_reported(savepoint: Savepoint) -> None:
    path = Path(savepoint.path, "_metadata")
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StateError, match="damaged"):
        open_savepoint(savepoint.path)
    with pytest.raises(StateError, match="cannot be read"):
        read_checkpoint(f"{savepoint.path}-elsewhere")


def test_a_remote_target_is_written_through_a_spool_file(savepoint: Savepoint, tmp_path: Path) -> None:
    from funke.engine.jobs.checkpoints.savepoint_files import copy_snapshot

    source = savepoint.snapshots[0].path
    copy_snapshot(source, f"file://{tmp_path}/a/copy")
    assert (tmp_path / "a" / "copy").read_bytes() == Path(source).read_bytes()
