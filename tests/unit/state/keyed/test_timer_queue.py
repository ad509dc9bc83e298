"""Timer queues: order, no duplicates, deletion, timers set while others fire."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from funke.engine.state.keyed.timer_queue import TimerQueue
from funke.engine.types.keys.key_groups import KeyGroups


def fired(queue: TimerQueue, until: int) -> list[tuple[int, Any]]:
    results: list[tuple[int, Any]] = []
    queue.fire(until, lambda time, entry: results.append((time, entry)))
    return results


def queue_of(*timers: tuple[int, Any]) -> TimerQueue:
    queue = TimerQueue()
    for time, entry in timers:
        queue.register(time, entry)
    return queue


def test_timers_fire_in_order_of_time_up_to_and_including_the_limit() -> None:
    queue = queue_of((30, "a"), (10, "b"), (20, "a"), (21, "b"))
    assert queue.next_time() == 10
    assert fired(queue, 20) == [(10, "b"), (20, "a")]
    assert fired(queue, 20) == []
    assert queue.next_time() == 21
    assert fired(queue, 100) == [(21, "b"), (30, "a")]
    assert queue.next_time() is None


def test_a_timer_that_is_set_twice_fires_once() -> None:
    assert fired(queue_of((10, "a"), (10, "a"), (10, "b")), 10) == [(10, "a"), (10, "b")]


def test_a_deleted_timer_does_not_fire() -> None:
    queue = queue_of((10, "a"), (10, "b"), (20, "a"))
    queue.delete(10, "a")
    queue.delete(20, "a")
    queue.delete(20, "a")
    queue.delete(99, "unknown")
    assert len(queue) == 1
    assert fired(queue, 100) == [(10, "b")]


def test_a_deleted_timer_can_be_set_again() -> None:
    queue = queue_of((10, "a"))
    queue.delete(10, "a")
    assert queue.next_time() is None
    queue.register(10, "a")
    assert fired(queue, 10) == [(10, "a")]


def test_timers_set_while_firing_fire_too_if_they_are_due() -> None:
    queue = queue_of((10, "a"))
    results = []

    def on_timer(time: int, entry: str) -> None:
        results.append(time)
        queue.register(time + 10, entry)

    queue.fire(35, on_timer)
    assert (results, queue.next_time()) == ([10, 20, 30], 40)


def test_an_earlier_timer_set_while_firing_comes_before_the_rest() -> None:
    queue = queue_of((10, "a"), (10, "b"), (10, "c"))
    results = []

    def on_timer(time: int, entry: str) -> None:
        results.append((time, entry))
        if (time, entry) == (10, "a"):
            queue.register(5, "late")
            queue.register(10, "b")

    queue.fire(10, on_timer)
    assert results == [(10, "a"), (5, "late"), (10, "b"), (10, "c")]


def test_a_timer_can_set_itself_again_and_delete_its_neighbour() -> None:
    queue = queue_of((10, "a"), (10, "b"))
    results = []

    def on_timer(time: int, entry: str) -> None:
        results.append(entry)
        queue.delete(10, "b")
        if len(results) < 3:
            queue.register(10, "a")

    queue.fire(10, on_timer)
    assert results == ["a", "a", "a"]


def test_timers_that_are_moved_again_and_again_do_not_pile_up() -> None:
    queue = TimerQueue()
    for time in range(10_000):
        queue.register(time + 100_000, "a")
        queue.delete(time + 100_000 - 1, "a")
    assert len(queue) == 1
    assert len(queue._times) < 3000
    for _ in range(5000):
        queue.register(7, "b")
        queue.delete(7, "b")
    assert len(queue._times) < 3000
    assert fired(queue, 1_000_000) == [(109_999, "a")]


def test_a_failure_leaves_the_timers_that_did_not_fire() -> None:
    queue = queue_of((10, "a"), (10, "b"), (20, "c"))

    def on_timer(time: int, entry: str) -> None:
        raise RuntimeError(entry)

    try:
        queue.fire(100, on_timer)
    except RuntimeError as error:
        assert str(error) == "a"
    assert sorted(queue.items()) == [(10, "b"), (20, "c")]


def test_a_snapshot_is_by_key_group() -> None:
    queue = queue_of(*((time, f"key-{time % 7}") for time in range(50)))
    groups = pickle.loads(pickle.dumps(queue.snapshot(KeyGroups(128), lambda entry: entry)))
    assert all(KeyGroups(128).of(entry) == group for group, timers in groups.items() for _, entry in timers)
    restored = TimerQueue()
    for timers in groups.values():
        restored.restore(timers)
    assert fired(restored, 100) == [(time, f"key-{time % 7}") for time in range(50)]


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["register", "delete", "fire"]), st.integers(0, 20), st.sampled_from("abc")), max_size=60
)


@given(ACTIONS)
def test_the_queue_does_what_a_sorted_set_does(actions: list[tuple[str, int, str]]) -> None:
    queue = TimerQueue()
    model: set[tuple[int, str]] = set()
    for action, time, entry in actions:
        if action == "register":
            queue.register(time, entry)
            model.add((time, entry))
        elif action == "delete":
            queue.delete(time, entry)
            model.discard((time, entry))
        else:
            due = {timer for timer in model if timer[0] <= time}
            result = fired(queue, time)
            assert [timer[0] for timer in result] == sorted(timer[0] for timer in due)
            assert set(result) == due and len(result) == len(due)
            model -= due
        assert queue.next_time() == min((timer[0] for timer in model), default=None)
        assert len(queue) == len(model)
