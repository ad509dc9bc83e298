"""What a database holds by state: counted a little at a time, exact once all of it was seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from funke.engine.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from funke.engine.state.rocksdb.census import Census
from funke.engine.types import Types
from tests.harness.backends import backend_factory

COUNT = ValueStateDescriptor("count", Types.LONG())
LINES = ListStateDescriptor("lines", Types.STRING())


@pytest.fixture
def backend() -> Iterator[Any]:
    with backend_factory("rocksdb-without-cache") as make:
        created: Any = make(16)
        counts, lines = created.get_state(COUNT), created.get_state(LINES)
        timers = created.create_timers(0, False)
        for number in range(400):
            created.set_current_key(f"key-{number}")
            counts.update(number)
            timers.register(number, f"key-{number}")
            if number % 4 == 0:
                lines.update(["x" * 500])
        yield created


def test_small_state_is_counted_at_every_checkpoint(backend: Any) -> None:
    backend.prepare_snapshot(1)
    (described,) = [file for file in backend.native_files() if file.holds]
    states = {each.name: each for each in described.holds}
    assert (states["count"].kind, states["count"].entries) == ("value", 400)
    assert (states["lines"].kind, states["lines"].entries) == ("list", 100)
    assert states["lines"].bytes > 100 * 500 > states["count"].bytes
    assert 0 < states["event-time timers"].entries <= 400
    backend.drop_key("key-0")
    backend.prepare_snapshot(2)
    (described,) = [file for file in backend.native_files() if file.holds]
    assert {each.name: each.entries for each in described.holds if each.kind != "timers"} == {"count": 399, "lines": 99}


def test_large_state_is_estimated_until_all_of_it_was_seen(backend: Any) -> None:
    backend.prepare_snapshot(1)
    census, states = Census(100), list(backend._states.values())
    rows = sum(each.entries for each in backend._held)
    census.go_on(backend.store)
    first = census.held(states, backend.store)
    # What 100 rows say, scaled to RocksDB's own estimate of all.
    assert sum(each.entries for each in first) == pytest.approx(rows, rel=0.5)
    for _ in range(rows // 100):
        census.go_on(backend.store)
    assert sorted(census.held(states, backend.store)) == sorted(backend._held)
