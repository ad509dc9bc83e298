"""Keyed state, in memory and in RocksDB: each kind of state by its rules, key by key, and snapshots by key group."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.types import Types
from funke.engine.types.functions import AggregateFunction
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import BACKENDS, backend_factory


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


VALUE = ValueStateDescriptor("value", Types.INT())
LIST = ListStateDescriptor("list", Types.INT())
MAP = MapStateDescriptor("map", Types.STRING(), Types.INT())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT())
MEAN = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
ALL = [VALUE, LIST, MAP, SUM, MEAN]


new_backend: Callable[..., KeyedBackend]


@pytest.fixture(autouse=True, params=BACKENDS)
def backend_name(request: pytest.FixtureRequest) -> Iterator[str]:
    global new_backend
    with backend_factory(request.param) as new_backend:
        yield request.param


def backend_at(key: Any = "k") -> KeyedBackend:
    backend = new_backend()
    backend.set_current_key(key)
    return backend


def test_value_state_is_none_before_the_first_update_and_after_clear() -> None:
    state = backend_at().get_state(VALUE)
    assert state.value() is None
    state.update(5)
    assert state.value() == 5
    state.update(None)
    assert state.value() is None
    state.update(6)
    state.clear()
    assert state.value() is None
    state.clear()


def test_list_state() -> None:
    state = backend_at().get_state(LIST)
    assert list(state.get()) == []
    state.add(1)
    state.add_all([2, 3])
    state.add_all([])
    assert list(state.get()) == [1, 2, 3]
    assert list(state) == [1, 2, 3]
    state.update([9])
    assert list(state.get()) == [9]
    state.update([])
    assert list(state.get()) == []
    state.add(1)
    state.clear()
    assert list(state.get()) == []


def test_a_list_can_change_while_it_is_read() -> None:
    state = backend_at().get_state(LIST)
    state.update([1, 2])
    seen = []
    for element in state.get():
        seen.append(element)
        state.add(element + 10)
    state_before = state.get()
    state.clear()
    assert (seen, list(state_before)) == ([1, 2], [1, 2, 11, 12])


def test_the_list_that_update_was_given_stays_the_callers() -> None:
    state = backend_at().get_state(LIST)
    mine = [1]
    state.update(mine)
    mine.append(2)
    assert list(state.get()) == [1]


def test_map_state() -> None:
    state = backend_at().get_state(MAP)
    assert (state.get("a"), state.contains("a"), state.is_empty(), list(state.items())) == (None, False, True, [])
    state.put("a", 1)
    state["b"] = 2
    state.put_all({"c": 3, "d": 4})
    state.put_all({})
    assert (state["a"], "b" in state, "z" in state, state.is_empty()) == (1, True, False, False)
    assert list(state.keys()) == list(state) == ["a", "b", "c", "d"]
    assert list(state.values()) == [1, 2, 3, 4]
    state.remove("a")
    state.remove("unknown")
    del state["b"]
    assert list(state.items()) == [("c", 3), ("d", 4)]
    for key in state:
        state.remove(key)
    assert state.is_empty()
    state.put("a", 1)
    state.clear()
    assert state.is_empty()


def test_programs_find_the_map_of_a_key_behind_its_handle() -> None:
    state = backend_at().get_state(MAP)
    state.get_internal_state().put("a", 1)
    assert (state.get("a"), list(state.get_internal_state().items())) == (1, [("a", 1)])


def test_a_none_in_a_map_is_an_entry_that_contains_does_not_see() -> None:
    # What PyFlink does too.
    state = backend_at().get_state(MAP)
    state.put("x", None)
    assert (state.get("x"), state.contains("x"), state.is_empty()) == (None, False, False)
    assert list(state.items()) == [("x", None)]


def test_reducing_state() -> None:
    state = backend_at().get_state(SUM)
    assert state.get() is None
    for value in (1, 2, 3):
        state.add(value)
    assert state.get() == 6
    state.clear()
    assert state.get() is None


def test_aggregating_state_has_other_types_in_and_out() -> None:
    state = backend_at().get_state(MEAN)
    assert state.get() is None
    for value in (1, 2, 6):
        state.add(value)
    assert state.get() == 3.0
    state.add(None)
    assert state.get() is None


@pytest.mark.parametrize("keys", [("a", "b"), (1, 2), ([1], [2]), ({"x": 1}, {"x": 2}), (None, 0)])
def test_each_key_has_its_own_state(keys: tuple[Any, Any]) -> None:
    backend = backend_at()
    value, elements, entries = (backend.get_state(descriptor) for descriptor in (VALUE, LIST, MAP))
    for number, key in enumerate(keys):
        backend.set_current_key(key)
        value.update(number)
        elements.add(number)
        entries.put("n", number)
    for number, key in enumerate(keys):
        backend.set_current_key(key)
        assert (value.value(), list(elements.get()), entries.get("n")) == (number, [number], number)
        assert backend.get_current_key() == key


def test_several_states_of_one_key_do_not_mix() -> None:
    backend = backend_at()
    backend.get_state(VALUE).update(1)
    assert backend.get_state(ValueStateDescriptor("other", Types.INT())).value() is None


def test_asking_again_gives_the_same_state_and_another_kind_is_rejected() -> None:
    backend = backend_at()
    backend.get_state(VALUE).update(1)
    assert backend.get_state(ValueStateDescriptor("value", Types.INT())).value() == 1
    with pytest.raises(StateError, match=r"'value' is already a value state, in .* and cannot be used as a list state"):
        backend.get_state(ListStateDescriptor("value", Types.INT()))


def test_namespaces_are_apart() -> None:
    backend = backend_at()
    backend.get_state(VALUE, "w1").update(1)
    backend.get_state(VALUE, "w2").update(2)
    assert [backend.get_state(VALUE, namespace).value() for namespace in ("w1", "w2", None)] == [1, 2, None]


def test_namespaces_without_state_are_let_go() -> None:
    backend = backend_at()
    for window in range(1100):
        backend.get_state(VALUE, window).update(1)
        backend.get_state(VALUE, window).clear()
    backend.get_state(VALUE, "kept").update(1)
    backend.prune()
    assert len(backend._handles) <= 1  # type: ignore[attr-defined]
    assert backend.get_state(VALUE, "kept").value() == 1


@pytest.mark.parametrize(
    ("descriptor", "read", "expected"),
    [(LIST, list, [1, 2, 3]), (SUM, lambda state: state.get(), 6), (MEAN, lambda state: state.get(), 2.0)],
)
def test_merging_namespaces(descriptor: StateDescriptor, read: Callable[[Any], Any], expected: Any) -> None:
    backend = backend_at()
    for value, namespace in ((1, "a"), (2, "b"), (3, "c")):
        backend.get_state(descriptor, namespace).add(value)
    backend.set_current_key("other")
    backend.get_state(descriptor, "b").add(50)
    backend.set_current_key("k")
    backend.merge_namespaces(descriptor, "a", ["b", "c", "empty"])
    assert read(backend.get_state(descriptor, "a")) == expected
    assert not read(backend.get_state(descriptor, "b"))
    backend.set_current_key("other")
    assert read(backend.get_state(descriptor, "b"))


def test_merging_into_a_namespace_without_state() -> None:
    backend = backend_at()
    backend.get_state(SUM, "a").add(1)
    backend.merge_namespaces(SUM, "new", ["a"])
    assert backend.get_state(SUM, "new").get() == 1


def fill(backend: KeyedBackend, keys: list[Any]) -> None:
    for number, key in enumerate(keys):
        backend.set_current_key(key)
        backend.get_state(VALUE).update(number)
        backend.get_state(LIST).update([number, number])
        backend.get_state(MAP).put("n", number)
        backend.get_state(SUM).add(number)
        backend.get_state(MEAN).add(number)
        backend.get_state(VALUE, "window").update(-number)


def contents(backend: KeyedBackend, key: Any) -> list[Any]:
    backend.set_current_key(key)
    value, elements, entries, total, mean = (backend.get_state(descriptor) for descriptor in ALL)
    in_window = backend.get_state(VALUE, "window").value()
    return [value.value(), list(elements.get()), dict(entries.items()), total.get(), mean.get(), in_window]


def test_a_snapshot_is_by_key_group_and_restores_into_any_number_of_subtasks() -> None:
    keys: list[Any] = [*range(50), *map(str, range(50)), [1, 2], {"a": 1}, ("t", [3])]
    backend = backend_at()
    fill(backend, keys)
    snapshot = pickle.loads(pickle.dumps(list(backend.snapshot_parts())))
    assert {group for group, _ in snapshot} == {KeyGroups(128).of(key) for key in keys}
    for parallelism in (1, 3):
        for subtask in range(parallelism):
            part = [(group, each) for group, each in snapshot if group * parallelism // 128 == subtask]
            restored = new_backend()
            restored.restore(part)
            for number, key in enumerate(keys):
                is_own = KeyGroups(128).of(key) * parallelism // 128 == subtask
                expected = [number, [number] * 2, {"n": number}, number, float(number), -number]
                assert contents(restored, key) == (expected if is_own else [None, [], {}, None, None, None])


def test_state_that_nobody_asked_for_after_a_restore_is_kept() -> None:
    backend = backend_at()
    fill(backend, ["a"])
    second = new_backend()
    second.restore(backend.snapshot_parts())
    third = new_backend()
    third.restore(second.snapshot_parts())
    assert contents(third, "a") == [0, [0, 0], {"n": 0}, 0, 0.0, 0]


def test_dropping_a_key_drops_all_its_state() -> None:
    backend = backend_at()
    fill(backend, ["a", "b"])
    backend.drop_key("a")
    assert contents(backend, "a") == [None, [], {}, None, None, None]
    assert contents(backend, "b")[0] == 1


def test_a_counter_per_key_takes_less_than_300_bytes() -> None:
    backend = backend_at()
    state = backend.get_state(VALUE)
    tracemalloc.start()
    for number in range(30_000):
        backend.current_key = f"key-{number}"
        state.update(number + 1000)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 30_000 < 300
