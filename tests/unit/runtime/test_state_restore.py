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
from funke.engine.runtime.chain_snapshot import ChainSnapshot
from funke.engine.runtime.checkpoint_order import CheckpointOrder
from funke.engine.runtime.snapshot_files import SnapshotHandle
from funke.engine.runtime.state_restore import Place, RestoreFailure, restore_chain
from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot_format import GroupPart, TableId

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
        place = Place(subtask, parallelism, GROUPS)
        operator = Remembering(own(subtask), [group for group in range(GROUPS) if place.owns(group)])
        snapshot = ChainSnapshot(CheckpointOrder(1, str(folder)), str(folder), f"1-{subtask}-0")
        handle = snapshot.write(chain_of(operator), subtask, parallelism)
        assert handle is not None and snapshot.new_bytes == handle.size
        handles.append(handle.within(str(folder)))
    return handles


def restored(folder: Path, handles: list[SnapshotHandle], parallelism: int) -> list[Remembering]:
    operators = [Remembering() for _ in range(parallelism)]
    for subtask, operator in enumerate(operators):
        assert restore_chain(chain_of(operator), handles, Place(subtask, parallelism, GROUPS), str(folder))
    return operators


@pytest.mark.parametrize("new", PARALLELISMS)
@pytest.mark.parametrize("old", PARALLELISMS)
def test_each_key_group_goes_to_its_subtask(tmp_path: Path, old: int, new: int) -> None:
    operators = restored(tmp_path, written(tmp_path, old), new)
    for subtask, operator in enumerate(operators):
        place = Place(subtask, new, GROUPS)
        assert operator.keyed == {f"key {group}": group for group in range(GROUPS) if place.owns(group)}


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
    assert not restore_chain(chain_of(Remembering()), [], Place(0, 1, GROUPS), str(tmp_path))


def test_a_damaged_file_is_told_from_other_failures(tmp_path: Path) -> None:
    (handle,) = written(tmp_path, 1)
    Path(handle.path).write_bytes(Path(handle.path).read_bytes()[:-3])
    with pytest.raises(RestoreFailure, match="truncated"):
        restored(tmp_path, [handle], 1)


def test_state_that_is_too_large_for_its_storage_is_not_written(tmp_path: Path) -> None:
    def write(operator: Operator, limit: int) -> SnapshotHandle | None:
        order = CheckpointOrder(1, str(tmp_path))
        return ChainSnapshot(order, str(tmp_path), "1-0-0", max_state_bytes=limit).write(chain_of(operator), 0, 1)

    # Keyed state and other state each have the whole size for themselves.
    both = Remembering([1] * 300, range(GROUPS))
    sizes = r"takes \d{3,4} bytes in one subtask, and the checkpoint storage 'jobmanager' allows 100;"
    with pytest.raises(StateError, match=f"the state of operator 'sum' {sizes}"):
        write(both, 100)
    with pytest.raises(StateError, match=f"the keyed state of operator 'sum' {sizes}"):
        write(Remembering(None, range(GROUPS)), 100)
    handle = write(both, 3000)
    assert handle is not None
