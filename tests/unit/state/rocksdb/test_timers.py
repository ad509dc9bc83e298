"""Timers in RocksDB: they fire as timers in memory do, and move with snapshots between both."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.backend_choice import BackendChoice, create_backend
from funke.engine.state.keyed.timer_queue import EVENT_TIME, PROCESSING_TIME, TimerQueue, Timers
from funke.engine.state.rocksdb.backend import RocksDBBackend
from funke.engine.state.rocksdb.settings import RocksDBSettings
from funke.engine.state.rocksdb.timer_rows import decode_timer, encode_timers, is_plain
from funke.engine.state.rocksdb.timers import RocksDBTimerQueue
from funke.engine.state.storage_keys import group_of, storage_key
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import IN_MEMORY

GROUPS = 16
Timer = tuple[int, Any]


@contextmanager
def backend_with(timers: int = 4, *, in_memory: bool = False) -> Iterator[RocksDBBackend]:
    """A backend that keeps so many timers in memory, or all of them."""
    settings = RocksDBSettings(memory_bytes=16 << 20, cached_timers=timers, has_timers_in_memory=in_memory)
    choice = BackendChoice("rocksdb", settings, (IN_MEMORY,))
    backend = create_backend(choice, KeyGroups(GROUPS), lambda: 0, choice.folder_for("job", "op", 0, 0))
    assert isinstance(backend, RocksDBBackend)
    try:
        yield backend
    finally:
        backend.close()


def fired(queue: Timers, until: int, on_timer: Callable[[int, Any], None] = lambda time, entry: None) -> list[Timer]:
    timers: list[Timer] = []

    def note(time: int, entry: Any) -> None:
        timers.append((time, entry))
        on_timer(time, entry)

    queue.fire(until, note)
    return timers


def by_time(timers: list[Timer]) -> list[tuple[int, set[Any]]]:
    """Entries that fire at the same time are in no order."""
    grouped: list[tuple[int, set[Any]]] = []
    for time, entry in timers:
        if not grouped or grouped[-1][0] != time:
            grouped.append((time, set()))
        assert entry not in grouped[-1][1], "a timer fires once"
        grouped[-1][1].add(entry)
    return grouped


# Some have no form as bytes, and stay in memory.
KEYS = ["a", "b", "c", 1, 2, -3, None, b"x", ("a", 1), storage_key(1.0), storage_key(["a"]), 1.5]
entries = st.sampled_from(KEYS)
times = st.integers(-5, 30)
steps = st.one_of(
    st.tuples(st.just("register"), times, entries),
    st.tuples(st.just("delete"), times, entries),
    st.tuples(st.just("fire"), times, st.none()),
    st.tuples(st.just("next"), st.none(), st.none()),
)


@example([("register", -1, 1), ("register", 17, 2), ("fire", 17, None)], 1)
@settings(max_examples=150)
@given(st.lists(steps, max_size=60), st.integers(1, 8))
def test_they_fire_as_timers_in_memory_do(actions: list[tuple[str, Any, Any]], limit: int) -> None:
    with backend_with(limit) as backend:
        queues: list[Timers] = [TimerQueue(), backend.create_timers(EVENT_TIME, False)]
        for action, time, entry in actions:
            if action == "fire":
                expected, actual = (_fire_and_set(queue, time) for queue in queues)
                # Entries of the same time are in no order, so one that sets an earlier timer may be first or last.
                assert Counter(actual) == Counter(expected)
                _check_order(actual)
            elif action == "next":
                assert queues[0].next_time() == queues[1].next_time()
            else:
                for queue in queues:
                    getattr(queue, action)(time, entry)
        assert sorted(queues[0].items(), key=repr) == sorted(queues[1].items(), key=repr)
        assert len(queues[0]) == len(queues[1])
        assert by_time(fired(queues[1], 100)) == by_time(fired(queues[0], 100))
        assert queues[1].next_time() is None


def _check_order(timers: list[Timer]) -> None:
    """By time, but that a timer which is set for an earlier time is the next one."""
    for (time, entry), following in pairwise(timers):
        if entry == 2 and time % 2:
            assert following == (time - 1, "earlier")
    times = [time for time, entry in timers if entry != "earlier"]
    assert times == sorted(times)


def _fire_and_set(queue: Timers, until: int) -> list[Timer]:
    def on_timer(time: int, entry: Any) -> None:
        # Sets a timer that is due now or later, and removes a later one.
        if entry in ("a", 1, None):
            queue.register(time + 3, entry)
            queue.delete(time + 2, "b")
        if entry == 2 and time % 2:
            queue.register(time - 1, "earlier")

    return fired(queue, until, on_timer)


def test_a_timer_that_fires_may_be_set_again_for_the_same_time() -> None:
    with backend_with(2) as backend:
        queue = backend.create_timers(EVENT_TIME, False)
        for number in range(10):
            queue.register(5, number)
        again: list[Any] = []

        def once_more(time: int, entry: Any) -> None:
            if entry not in again:
                again.append(entry)
                queue.register(time, entry)

        assert sorted(entry for _, entry in fired(queue, 5, once_more)) == sorted([*range(10), *range(10)])


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), entries)))
def test_rows_are_ordered_by_time_and_can_be_read(timers: list[Timer]) -> None:
    plain = [timer for timer in timers if is_plain(*timer)]
    rows = encode_timers(plain, EVENT_TIME, False, KeyGroups(GROUPS))
    assert [decode_timer(row) for row in rows] == plain
    assert [decode_timer(row)[0] for row in sorted(rows)] == sorted(time for time, _ in plain)


@pytest.mark.parametrize("namespace", [TimeWindow(5, 10), 0, None, "side"])
def test_timers_of_windows(namespace: Any) -> None:
    timers = [(time, (key, namespace)) for time in (-1, 7) for key in ("a", 3, ("x", 1))]
    rows = encode_timers(timers, PROCESSING_TIME, True, KeyGroups(GROUPS))
    assert [decode_timer(row) for row in rows] == timers
    with backend_with(1) as backend:
        queue = backend.create_timers(PROCESSING_TIME, True)
        queue.restore(timers)
        assert by_time(fired(queue, 10)) == by_time(timers)


TIMERS: dict[int, list[Timer]] = {
    EVENT_TIME: [(time, key) for time in range(40) for key in KEYS[:5]],
    PROCESSING_TIME: [(time, key) for time in range(20) for key in KEYS],
}


def queues_of(backend: RocksDBBackend) -> dict[int, Timers]:
    return {number: backend.create_timers(number, False) for number in TIMERS}


def set_up(backend: RocksDBBackend) -> dict[int, Timers]:
    queues = queues_of(backend)
    for number, timers in TIMERS.items():
        queues[number].restore(timers)
        queues[number].register(1000, "deleted")
        queues[number].delete(1000, "deleted")
    return queues


def snapshot_of(backend: RocksDBBackend, queues: dict[int, Timers]) -> dict[int, list[tuple[int, list[Timer]]]]:
    """All timers of a full snapshot: queue -> key group and timers."""
    backend.prepare_snapshot(1)
    parts_of: dict[int, list[tuple[int, list[Timer]]]] = {number: [] for number in TIMERS}
    for number, queue in queues.items():
        parts_of[number].extend(queue.snapshot(KeyGroups(GROUPS), lambda key: key).items())
    for group, part in backend.snapshot_parts():
        parts_of[EVENT_TIME].append((group, part.event_timers))
        parts_of[PROCESSING_TIME].append((group, part.processing_timers))
    return parts_of


@pytest.mark.parametrize("to_memory", [True, False])
@pytest.mark.parametrize("from_memory", [True, False])
def test_a_full_snapshot_moves_between_memory_and_rocksdb(from_memory: bool, to_memory: bool) -> None:
    with backend_with(in_memory=from_memory) as old, backend_with(in_memory=to_memory) as new:
        snapshot = snapshot_of(old, set_up(old))
        restored = queues_of(new)
        for number, parts in snapshot.items():
            # Each key group for itself, as when the parallelism changes.
            for _, timers in parts:
                restored[number].restore(timers)
        for number, timers in TIMERS.items():
            assert isinstance(restored[number], TimerQueue if to_memory else RocksDBTimerQueue)
            assert by_time(fired(restored[number], 100)) == by_time(sorted(timers, key=lambda timer: timer[0]))


@pytest.mark.parametrize("to_memory", [True, False])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_files_of_the_database_hold_timers_at_any_parallelism(
    to_memory: bool, parallelism: int, tmp_path: Path
) -> None:
    with ExitStack() as closing:
        old = closing.enter_context(backend_with())
        queues = set_up(old)
        old.prepare_snapshot(1)
        for file in old.native_files():
            shutil.copyfile(file.path, tmp_path / file.name)
        in_memory = {number: queue.snapshot(KeyGroups(GROUPS), lambda key: key) for number, queue in queues.items()}
        # What happens later is not in the snapshot.
        for queue in queues.values():
            fired(queue, 100)
        restored_timers: dict[int, list[Timer]] = {number: [] for number in TIMERS}
        for subtask in range(parallelism):
            new = closing.enter_context(backend_with(in_memory=to_memory))
            restored = queues_of(new)
            own = [group for group in range(GROUPS) if group * parallelism // GROUPS == subtask]
            new.restore_native([str(tmp_path)], own)
            for number, queue in restored.items():
                queue.restore(timer for group in own for timer in in_memory[number].get(group, []))
                restored_timers[number].extend(fired(queue, 100))
        for number, timers in TIMERS.items():
            assert sorted(restored_timers[number], key=repr) == sorted(timers, key=repr)


def test_timers_that_are_not_yet_in_the_database_go_to_their_own_subtask(tmp_path: Path) -> None:
    halves = [[key for key in map(str, range(50)) if group_of(key, KeyGroups(GROUPS)) // 8 == half] for half in (0, 1)]
    with backend_with() as old, backend_with() as first, backend_with() as second:
        queue = old.create_timers(EVENT_TIME, False)
        # The database has timers of the first half only.
        queue.restore((time, halves[0][0]) for time in range(20))
        queue.register(5000, halves[1][0])
        old.prepare_snapshot(1)
        for file in old.native_files():
            shutil.copyfile(file.path, tmp_path / file.name)
        keys = []
        for half, new in enumerate((first, second)):
            restored = new.create_timers(EVENT_TIME, False)
            new.restore_native([str(tmp_path)], range(half * 8, half * 8 + 8))
            keys.append({entry for _, entry in restored.items()})
    assert keys == [{halves[0][0]}, {halves[1][0]}]


def test_few_timers_need_no_database() -> None:
    with backend_with(1000) as backend:
        set_up(backend)
        assert backend._store is None
