"""State that was written with one parallelism and is read with another: nothing is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from funke.engine.errors import StateError
from funke.engine.operators.chain import OperatorChain
from funke.engine.operators.operator import Operator
from funke.engine.runtime.snapshots.chain_snapshot import ChainSnapshot
from funke.engine.runtime.snapshots.checkpoint_command import CheckpointCommand
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.engine.runtime.snapshots.state_restore import RestoreFailure, SubtaskRange, restore_chain
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, LocalFile, TableId

GROUPS = 16
TABLE = TableId("count", None, False, "value")
PARALLELISMS = [1, 2, 3, 4, 7]


class Remembering(Operator):
    """Has state of its own and one entry per key group; keeps what it is given back."""

    def __init__(self, own: Any = None, groups: Iterable[int] = ()) -> None:
        self._own, self._groups = own, groups
        self.own: Any = None
        self.keyed: dict[Any, Any] = {}

    def snapshot(self) -> Any:
        return self._own

    def snapshot_keyed(self) -> Any:
        for group in self._groups:
            yield group, GroupPart({TABLE: {f"key {group}": group}}, [(group, f"key {group}")], [])

    def restore(self, state: Any) -> None:
        self.own = state

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        for group, part in parts:
            assert part.event_timers == [(group, f"key {group}")]
            for table in part.tables.values():
                assert not self.keyed.keys() & table.keys(), "a key comes once"
                self.keyed.update(table)


def chain_of(operator: Operator) -> OperatorChain:
    own = {} if (state := operator.snapshot()) is None else {"op": state}
    chain = SimpleNamespace(
        specs=[SimpleNamespace(operator_id="op", node_id=1, name="sum")], operators={1: operator}, snapshot=lambda: own
    )
    return cast(OperatorChain, chain)


def written(folder: Path, parallelism: int, own: Any = lambda subtask: None) -> list[SnapshotHandle]:
    handles = []
    for subtask in range(parallelism):
        subtask_range = SubtaskRange(subtask, parallelism, GROUPS)
        operator = Remembering(own(subtask), [group for group in range(GROUPS) if subtask_range.owns(group)])
        snapshot = ChainSnapshot(CheckpointCommand(1, str(folder)), str(folder), f"1-{subtask}-0")
        handle = snapshot.write(chain_of(operator), subtask, parallelism)
        assert handle is not None and snapshot.new_bytes == handle.size
        handles.append(handle.within(str(folder)))
    return handles


def restored(folder: Path, handles: list[SnapshotHandle], parallelism: int) -> list[Remembering]:
    operators = [Remembering() for _ in range(parallelism)]
    for subtask, operator in enumerate(operators):
        assert restore_chain(chain_of(operator), handles, SubtaskRange(subtask, parallelism, GROUPS), str(folder))
    return operators


@pytest.mark.parametrize("new", PARALLELISMS)
@pytest.mark.parametrize("old", PARALLELISMS)
def test_each_key_group_goes_to_its_subtask(tmp_path: Path, old: int, new: int) -> None:
    operators = restored(tmp_path, written(tmp_path, old), new)
    for subtask, operator in enumerate(operators):
        subtask_range = SubtaskRange(subtask, new, GROUPS)
        assert operator.keyed == {f"key {group}": group for group in range(GROUPS) if subtask_range.owns(group)}


@pytest.mark.parametrize("new", PARALLELISMS)
@pytest.mark.parametrize("old", PARALLELISMS)
def test_lists_are_dealt_out_and_union_lists_go_to_everybody(tmp_path: Path, old: int, new: int) -> None:
    def own(subtask: int) -> OperatorStateSnapshot:
        entries = [f"{subtask}-{position}" for position in range(5)]
        return OperatorStateSnapshot({"list": entries}, {"union": [subtask]}, {"rules": {"a": 1}})

    operators = restored(tmp_path, written(tmp_path, old, own), new)
    dealt = [entry for operator in operators for entry in operator.own.lists["list"]]
    assert sorted(dealt) == sorted(entry for subtask in range(old) for entry in own(subtask).lists["list"])
    sizes = [len(operator.own.lists["list"]) for operator in operators]
    assert max(sizes) - min(sizes) <= 1
    for subtask, operator in enumerate(operators):
        assert sorted(operator.own.unions["union"]) == list(range(old))
        assert operator.own.broadcasts == {"rules": {"a": 1}}
        if old == new:
            assert operator.own.lists == own(subtask).lists, "lists move only when they have to"


@pytest.mark.parametrize("new", PARALLELISMS)
def test_states_of_writers_and_broadcast_state(tmp_path: Path, new: int) -> None:
    writers = restored(tmp_path / "a", written(tmp_path / "a", 3, lambda subtask: [subtask]), new)
    assert sorted(item for writer in writers for item in writer.own) == [0, 1, 2]
    broadcast = restored(tmp_path / "b", written(tmp_path / "b", 3, lambda subtask: {"rules": {1: 2}}), new)
    assert all(operator.own == {"rules": {1: 2}} for operator in broadcast)


def test_the_progress_of_event_time_stays_where_it_was(tmp_path: Path) -> None:
    handles = written(tmp_path, 2, lambda subtask: (subtask,))
    assert [operator.own for operator in restored(tmp_path, handles, 2)] == [(0,), (1,)]
    assert [operator.own for operator in restored(tmp_path, handles, 3)] == [None, None, None]


def test_nothing_to_restore(tmp_path: Path) -> None:
    assert not restore_chain(chain_of(Remembering()), [], SubtaskRange(0, 1, GROUPS), str(tmp_path))


def test_a_damaged_file_is_distinguished_from_other_failures(tmp_path: Path) -> None:
    (handle,) = written(tmp_path, 1)
    Path(handle.path).write_bytes(Path(handle.path).read_bytes()[:-3])
    with pytest.raises(RestoreFailure, match="truncated"):
        restored(tmp_path, [handle], 1)


class InFiles(Operator):
    """Has two files of its own, one of which checkpoints share; keeps what it is given back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.restored_files: dict[str, bytes] = {}
        self.failure: Exception | None = None

    def native_files(self) -> Any:
        for name, shared_id in (("000012.sst", "abc-000012.sst"), ("MANIFEST", None)):
            (self._folder / name).write_bytes(f"content of {name}".encode())
            yield LocalFile(str(self._folder / name), name, shared_id)

    def snapshot_timers(self) -> Any:
        yield 0, GroupPart({}, [(0, "key 0")], [])

    def restore_native(self, folders: Any, groups: Any) -> None:
        if self.failure is not None:
            raise self.failure
        self.restored_files = {path.name: path.read_bytes() for folder in folders for path in Path(folder).iterdir()}

    def restore_keyed(self, parts: Any) -> None:
        list(parts)


def incremental(folder: Path, entries: dict[str, int | None] | None = None) -> SnapshotHandle:
    (folder / "database").mkdir(exist_ok=True)
    command = CheckpointCommand(1, str(folder / "chk-1"), is_incremental=True)
    snapshot = ChainSnapshot(command, command.folder, "1-0-0", entries or {})
    operator = InFiles(folder / "database")
    chain = SimpleNamespace(**{**vars(chain_of(Remembering())), "operators": {1: operator}})
    handle = snapshot.write(cast(OperatorChain, chain), 0, 1)
    assert handle is not None
    return handle


def restored_files(folder: Path, handle: SnapshotHandle, failure: Exception | None = None) -> dict[str, bytes]:
    operator = InFiles(folder)
    operator.failure = failure
    chain = SimpleNamespace(**{**vars(chain_of(Remembering())), "operators": {1: operator}})
    handles = [SnapshotHandle.from_plain(handle.to_plain()).within(str(folder / "chk-1"))]
    assert restore_chain(cast(OperatorChain, chain), handles, SubtaskRange(0, 1, GROUPS), str(folder))
    return operator.restored_files


@pytest.mark.parametrize("damaged", ["shared/abc-000012.sst", "chk-1/1-0-0-op-MANIFEST"])
def test_a_byte_that_has_changed_in_a_file_of_the_backend_is_found(tmp_path: Path, damaged: str) -> None:
    handle = incremental(tmp_path)
    assert restored_files(tmp_path, handle) == {
        "000012.sst": b"content of 000012.sst",
        "MANIFEST": b"content of MANIFEST",
    }
    content = bytearray((tmp_path / damaged).read_bytes())
    content[5] ^= 1
    (tmp_path / damaged).write_bytes(content)
    with pytest.raises(RestoreFailure, match=f"{damaged}' is damaged: its checksum does not match"):
        restored_files(tmp_path, handle)


def test_files_that_were_there_before_keep_their_checksums(tmp_path: Path) -> None:
    first = {file.path: file.checksum for file in incremental(tmp_path).native_files()}
    assert None not in first.values()
    again = incremental(tmp_path, {"../shared/abc-000012.sst": 4711})
    assert next(again.native_files()).checksum == 4711, "it is not read again"
    # The checkpoint before was written by a version without checksums.
    later = incremental(tmp_path, {"../shared/abc-000012.sst": None})
    assert {file.path: file.checksum for file in later.native_files()} == first


def test_checkpoints_without_checksums_are_read(tmp_path: Path) -> None:
    handle = incremental(tmp_path)
    plain = handle.to_plain()
    plain["native"] = [(owner, [file[:3] for file in files]) for owner, files in plain["native"]]
    old = SnapshotHandle.from_plain(plain)
    assert all(file.checksum is None for file in old.native_files())
    assert restored_files(tmp_path, old)["MANIFEST"] == b"content of MANIFEST"
    with pytest.raises(RestoreFailure, match="are damaged: Corruption: bad block"):
        restored_files(tmp_path, old, Exception("Corruption: bad block"))
    with pytest.raises(Exception, match="No space left") as failed:
        restored_files(tmp_path, old, Exception("IO error: No space left on device"))
    assert not isinstance(failed.value, StateError), "that says nothing about the checkpoint"


def test_state_that_is_too_large_for_its_storage_is_not_written(tmp_path: Path) -> None:
    def write(operator: Operator, limit: int) -> SnapshotHandle | None:
        command = CheckpointCommand(1, str(tmp_path))
        return ChainSnapshot(command, str(tmp_path), "1-0-0", max_state_bytes=limit).write(chain_of(operator), 0, 1)

    # Keyed state and other state each have the whole size for themselves.
    both = Remembering([1] * 300, range(GROUPS))
    sizes = r"takes \d{3,4} bytes in one subtask, and the checkpoint storage 'jobmanager' allows 100;"
    with pytest.raises(StateError, match=f"the state of operator 'sum' {sizes}"):
        write(both, 100)
    with pytest.raises(StateError, match=f"the keyed state of operator 'sum' {sizes}"):
        write(Remembering(None, range(GROUPS)), 100)
    handle = write(both, 3000)
    assert handle is not None
