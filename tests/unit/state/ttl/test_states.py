"""State that expires: update types, visibility, element-wise expiry, and the removal of what nobody can see."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.operators.time.clock import ManualClock
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.state.ttl.config import StateTtlConfig
from funke.engine.types import Duration, Time, Types
from funke.engine.types.functions import AggregateFunction
from tests.harness.backends import BACKENDS, backend_factory

TTL_MS = 1000


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return value + accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


new_backend: Callable[..., KeyedBackend]


@pytest.fixture(autouse=True, params=BACKENDS)
def backend_name(request: pytest.FixtureRequest) -> Iterator[str]:
    global new_backend
    with backend_factory(request.param) as new_backend:
        yield request.param


class Store:
    """A backend with one expiring state and a clock."""

    def __init__(self, kind: str = "value", on_read: bool = False, shows_expired: bool = False) -> None:
        self.clock = ManualClock(10_000)
        self.backend = new_backend(128, self.clock.now_ms)
        self.backend.set_current_key("k")
        self.descriptor = descriptor_of(kind)
        builder = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))
        if on_read:
            builder.update_ttl_on_read_and_write()
        if shows_expired:
            builder.return_expired_if_not_cleaned_up()
        self.descriptor.enable_time_to_live(builder.build())
        self.state = self.backend.get_state(self.descriptor)

    def after(self, ms: int) -> Any:
        self.clock.set(self.clock.now_ms() + ms)
        return self.state


def descriptor_of(kind: str) -> StateDescriptor:
    return {
        "value": lambda: ValueStateDescriptor("s", Types.INT()),
        "list": lambda: ListStateDescriptor("s", Types.INT()),
        "map": lambda: MapStateDescriptor("s", Types.STRING(), Types.INT()),
        "reducing": lambda: ReducingStateDescriptor("s", lambda a, b: a + b, Types.INT()),
        "aggregating": lambda: AggregatingStateDescriptor("s", Sum(), Types.INT()),
    }[kind]()


def test_a_value_lives_until_just_before_its_time_to_live_has_passed() -> None:
    store = Store()
    store.state.update(1)
    assert store.after(TTL_MS - 1).value() == 1
    assert store.after(1).value() is None


def test_a_write_restarts_the_clock_and_a_read_does_not() -> None:
    store = Store()
    store.state.update(1)
    assert store.after(900).value() == 1
    store.state.update(2)
    assert store.after(900).value() == 2
    assert store.after(100).value() is None


def test_a_read_restarts_the_clock_if_asked_for() -> None:
    store = Store(on_read=True)
    store.state.update(1)
    for _ in range(5):
        assert store.after(900).value() == 1
    assert store.after(1000).value() is None


def test_an_expired_value_is_seen_once_if_asked_for() -> None:
    store = Store(shows_expired=True)
    store.state.update(1)
    assert store.after(5000).value() == 1
    assert store.state.value() is None


def test_update_with_none_and_clear_remove_the_value() -> None:
    store = Store()
    store.state.update(1)
    store.state.update(None)
    assert store.state.value() is None
    store.state.update(1)
    store.state.clear()
    assert (store.state.value(), len(store.state.table)) == (None, 0)


def test_list_elements_expire_one_by_one() -> None:
    store = Store("list")
    store.state.add(1)
    store.after(600).add(2)
    assert list(store.after(300).get()) == [1, 2]
    assert list(store.after(200).get()) == [2]
    store.state.add_all([3, 4])
    assert list(store.after(600).get()) == [3, 4]
    assert list(store.after(1000).get()) == []
    store.state.update([5])
    assert list(store.state) == [5]


def test_reading_a_list_restarts_the_clock_of_what_is_left() -> None:
    store = Store("list", on_read=True)
    store.state.add(1)
    store.after(600).add(2)
    assert list(store.after(500).get()) == [2]
    assert list(store.after(900).get()) == [2]
    assert list(store.after(1000).get()) == []


def test_expired_list_elements_are_seen_if_asked_for_until_none_is_alive() -> None:
    store = Store("list", shows_expired=True)
    store.state.add(1)
    store.after(600).add(2)
    assert list(store.after(500).get()) == [1, 2]
    assert list(store.after(600).get()) == [1, 2]
    assert list(store.state.get()) == []


def test_map_entries_expire_one_by_one() -> None:
    store = Store("map")
    store.state.put("a", 1)
    store.after(600).put("b", 2)
    assert dict(store.after(300).items()) == {"a": 1, "b": 2}
    assert store.after(200).get("a") is None
    assert (store.state.contains("a"), store.state.contains("b")) == (False, True)
    assert (list(store.state.keys()), list(store.state.values())) == (["b"], [2])
    assert not store.state.is_empty()
    assert store.after(600).is_empty()
    assert dict(store.state.items()) == {}


def test_only_the_map_entries_that_are_read_live_on() -> None:
    store = Store("map", on_read=True)
    store.state.put_all({"a": 1, "b": 2})
    assert store.after(900).get("a") == 1
    assert dict(store.after(900).items()) == {"a": 1}
    assert dict(store.after(900).items()) == {"a": 1}


def test_expired_map_entries_are_seen_once_if_asked_for() -> None:
    store = Store("map", shows_expired=True)
    store.state.put_all({"a": 1, "b": 2})
    assert store.after(2000).get("a") == 1
    assert store.state.get("a") is None
    assert dict(store.state.items()) == {"b": 2}
    assert dict(store.state.items()) == {}


@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_what_has_expired_takes_no_part_in_the_next_result(kind: str) -> None:
    store = Store(kind)
    store.state.add(1)
    store.after(900).add(2)
    assert store.state.get() == 3
    store.after(1000).add(10)
    assert store.state.get() == 10
    assert store.after(1000).get() is None


def write(store: Store, number: int) -> None:
    if isinstance(store.descriptor, MapStateDescriptor):
        store.state.put("x", number)
    elif isinstance(store.descriptor, ValueStateDescriptor):
        store.state.update(number)
    else:
        store.state.add(number)


@pytest.mark.parametrize("kind", ["value", "list", "map", "reducing", "aggregating"])
def test_keys_that_nobody_asks_for_are_removed_in_passing(kind: str) -> None:
    store = Store(kind)
    for number in range(100):
        store.backend.set_current_key(number)
        write(store, number)
    store.after(2000)
    store.backend.set_current_key("busy")
    for number in range(30):
        write(store, number)
    if not store.backend.is_in_memory:
        for _ in range(200):  # it looks through one key group at a time
            store.after(20)
            write(store, number)
            store.backend.prune()
    assert list(store.state.table) == ["busy"]


def test_entries_of_a_busy_map_that_nobody_asks_for_are_removed_in_passing() -> None:
    store = Store("map")
    for number in range(1000):
        store.after(10).put(str(number), number)
        store.backend.prune()
    if not store.backend.is_in_memory:
        store.state.table.release()
        store.after(1000)
        store.backend.prune()
    assert len(store.state.table.get("k", ())) <= 100


def test_nothing_is_removed_in_passing_when_that_is_switched_off() -> None:
    store = Store()
    config = StateTtlConfig.new_builder(Duration.of_millis(TTL_MS)).disable_cleanup_in_background().build()
    descriptor = ValueStateDescriptor("kept", Types.INT())
    descriptor.enable_time_to_live(config)
    state = store.backend.get_state(descriptor)
    for number in range(10):
        store.backend.set_current_key(number)
        state.update(number)
    store.after(5000)
    store.backend.set_current_key("busy")
    state.update(1)
    assert len(state.table) == 11


@pytest.mark.parametrize("kind", ["value", "list", "map", "reducing", "aggregating"])
def test_a_snapshot_leaves_expired_entries_out_and_keeps_the_age_of_the_others(kind: str) -> None:
    store = Store(kind)
    write(store, 1)
    store.backend.set_current_key("young")
    store.after(600)
    write(store, 2)
    store.after(500)
    snapshot = pickle.loads(pickle.dumps(list(store.backend.snapshot_parts())))
    stored_keys = {key for _, part in snapshot for table in part.tables.values() for key in table}
    assert stored_keys == {"young"}
    restored = new_backend(128, store.clock.now_ms)
    restored.restore(snapshot)
    restored.set_current_key("young")
    state = restored.get_state(store.descriptor)
    assert len(state.table) == 1
    store.clock.set(store.clock.now_ms() + 500)
    assert list(state.unexpired_items()) == []


@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_a_time_to_live_can_be_added_and_taken_away_by_a_restart(kind: str) -> None:
    def read(state: Any) -> Any:
        method = {"value": "value", "list": "get", "map": "items"}[kind]
        result = getattr(state, method)()
        return result if kind == "value" else list(result)

    store = Store(kind)
    write(store, 1)
    expected = {"value": 1, "list": [1], "map": [("x", 1)]}[kind]
    plain = new_backend(128, store.clock.now_ms)
    plain.restore(store.backend.snapshot_parts())
    plain.set_current_key("k")
    assert read(plain.get_state(descriptor_of(kind))) == expected
    again = new_backend(128, store.clock.now_ms)
    again.restore(plain.snapshot_parts())
    again.set_current_key("k")
    state = again.get_state(store.descriptor)
    assert read(state) == expected
    store.after(TTL_MS)
    assert not read(state)


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["update", "read", "clear"]), st.integers(0, 700)))


@settings(deadline=None, max_examples=30)
@given(STEPS, st.booleans(), st.booleans())
def test_a_value_state_follows_flinks_rule_step_by_step(
    steps: list[tuple[str, str, int]], on_read: bool, shows_expired: bool
) -> None:
    store = Store(on_read=on_read, shows_expired=shows_expired)
    # With a second key at work, an expired value may be gone before it is read; so each key has its own backend here.
    model: dict[str, tuple[int, int]] = {}
    stores = {key: Store(on_read=on_read, shows_expired=shows_expired) for key in "abc"}
    now = store.clock.now_ms()
    for number, (key, action, delay) in enumerate(steps):
        now += delay
        stores[key].clock.set(now)
        state = stores[key].state
        is_alive = key in model and model[key][1] + TTL_MS > now
        if action == "update":
            state.update(number)
            model[key] = (number, now)
        elif action == "clear":
            state.clear()
            model.pop(key, None)
        else:
            expected = model[key][0] if is_alive or (shows_expired and key in model) else None
            assert state.value() == expected
            if is_alive and on_read:
                model[key] = (model[key][0], now)
            elif not is_alive:
                model.pop(key, None)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 400))))
def test_what_never_expired_values_show_does_not_depend_on_other_keys(writes: list[tuple[str, int]]) -> None:
    store = Store()
    last: dict[str, int] = {}
    for key, delay in writes:
        store.after(delay)
        store.backend.set_current_key(key)
        now = store.clock.now_ms()
        expected = last.get(key) if last.get(key, -TTL_MS) + TTL_MS > now else None
        assert store.state.value() == expected
        store.state.update(now)
        last[key] = now
