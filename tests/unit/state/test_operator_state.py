"""Operator state: lists are dealt out again when the parallelism changes, unions and broadcasts go to everybody."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from funke.engine.state.descriptors import ListStateDescriptor, MapStateDescriptor
from funke.engine.state.operator_state import HeapOperatorStateStore, OperatorStateSnapshot, redistribute
from funke.engine.types import Types

OFFSETS = ListStateDescriptor("offsets", Types.INT())
MEMBERS = ListStateDescriptor("members", Types.INT())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def test_a_store_knows_whether_it_was_restored() -> None:
    first = HeapOperatorStateStore()
    offsets = first.get_list_state(OFFSETS)
    offsets.add(1)
    offsets.add_all([2, 3])
    assert list(offsets.get()) == [1, 2, 3]
    offsets.update([4])
    first.get_union_list_state(MEMBERS).add(7)
    first.get_broadcast_state(RULES).put("a", 1)
    second = HeapOperatorStateStore(pickle.loads(pickle.dumps(first.snapshot())))
    assert (first.is_restored, second.is_restored) == (False, True)
    assert list(second.get_list_state(OFFSETS).get()) == [4]
    assert list(second.get_union_list_state(MEMBERS).get()) == [7]
    assert second.get_broadcast_state(RULES).get("a") == 1
    second.get_list_state(OFFSETS).clear()
    assert (list(second.get_list_state(OFFSETS)), list(first.get_list_state(OFFSETS))) == ([], [4])


@given(st.lists(st.lists(st.integers())), st.integers(1, 5))
def test_list_elements_are_spread_evenly_and_none_is_lost(subtasks: list[list[int]], parallelism: int) -> None:
    snapshots = [OperatorStateSnapshot({"offsets": elements}, {"members": elements}, {}) for elements in subtasks]
    shares = redistribute(snapshots, parallelism)
    every = sorted(element for elements in subtasks for element in elements)
    parts = [share.lists.get("offsets", []) for share in shares]
    assert sorted(element for part in parts for element in part) == every
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all(sorted(share.unions.get("members", [])) == every for share in shares)


def test_every_subtask_gets_the_broadcast_state_as_its_own() -> None:
    shares = redistribute([OperatorStateSnapshot(broadcasts={"rules": {"a": 1}})] * 2, 3)
    assert [share.broadcasts for share in shares] == [{"rules": {"a": 1}}] * 3
    shares[0].broadcasts["rules"]["b"] = 2
    assert "b" not in shares[1].broadcasts["rules"]
