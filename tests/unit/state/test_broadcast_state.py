"""Broadcast state: a map for the broadcast side, a view for the other."""

from __future__ import annotations

import pytest

from funke.engine.errors import StateError
from funke.engine.state.broadcast_state import BroadcastStateStore
from funke.engine.state.descriptors import MapStateDescriptor
from funke.engine.types import Types

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def test_the_broadcast_side_reads_and_writes() -> None:
    state = BroadcastStateStore().get_broadcast_state(RULES)
    assert (state.is_empty(), state.get("a"), state.contains("a")) == (True, None, False)
    state.put("a", 1)
    state["b"] = 2
    state.put_all({"c": 3})
    assert dict(state.items()) == {"a": 1, "b": 2, "c": 3}
    assert (list(state.keys()), list(state.values()), "a" in state, state["a"]) == (["a", "b", "c"], [1, 2, 3], True, 1)
    for key in state:
        state.remove(key)
    assert state.is_empty()
    state.put("a", 1)
    state.clear()
    assert list(state) == []


def test_the_other_side_sees_the_same_entries() -> None:
    store = BroadcastStateStore()
    view = store.get_read_only(RULES)
    store.get_broadcast_state(RULES).put("a", 1)
    assert (view.get("a"), view["a"], "a" in view, view.is_empty()) == (1, 1, True, False)
    assert (dict(view.items()), list(view.keys()), list(view.values()), list(view)) == ({"a": 1}, ["a"], [1], ["a"])
    assert store.get_read_only(RULES) is view


def test_the_other_side_may_not_write() -> None:
    view = BroadcastStateStore().get_read_only(RULES)
    writes = [
        lambda: view.put("a", 1),
        lambda: view.put_all({"a": 1}),
        lambda: view.remove("a"),
        view.clear,
        lambda: view.__setitem__("a", 1),
        lambda: view.__delitem__("a"),
    ]
    for write in writes:
        with pytest.raises(StateError, match="broadcast state 'rules' is read-only here"):
            write()
    assert view.is_empty()


def test_snapshot_and_restore() -> None:
    store = BroadcastStateStore()
    store.get_broadcast_state(RULES).put("a", 1)
    again = BroadcastStateStore()
    again.restore(store.snapshot())
    assert again.get_read_only(RULES).get("a") == 1
    again.get_broadcast_state(RULES).put("b", 2)
    assert not store.get_broadcast_state(RULES).contains("b")
