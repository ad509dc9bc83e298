"""A key that most records have is found by a look at some of them."""

from __future__ import annotations

import pytest

from funke.engine.operators.keyed.hot_keys import HotKeys


def test_the_hottest_key_and_its_share() -> None:
    now = [0.0]
    keys = HotKeys(lambda: now[0])
    assert keys.hottest() == {}
    keys.look(["EU"] * 600 + [f"other {number}" for number in range(400)])
    assert keys.hottest() == {"hottestKey": "'EU'", "hottestKeyShare": pytest.approx(0.6, rel=0.01)}
    # Not so soon again.
    keys.look(["US"] * 10_000)
    assert keys.hottest()["hottestKey"] == "'EU'"
    for _ in range(10):
        now[0] += 1
        keys.look([("US", 1)] * 1_000)
    assert keys.hottest() == {"hottestKey": "('US', 1)", "hottestKeyShare": 1.0}, "the last looks count"


def test_even_keys_and_few_records_say_nothing() -> None:
    keys = HotKeys(lambda: 0.0)
    keys.look([])
    keys.look(list(range(1000)))
    assert keys.hottest() == {}
    few = HotKeys(lambda: 0.0)
    few.look(["EU"] * 50)
    assert few.hottest() == {}
    few.look(["EU"] * 50)
    assert few.hottest() == {"hottestKey": "'EU'", "hottestKeyShare": 1.0}, "short batches add up"


def test_long_and_odd_keys_are_cut() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError("no text")

    long, odd = HotKeys(lambda: 0.0), HotKeys(lambda: 0.0)
    long.look(["x" * 200] * 200)
    assert len(long.hottest()["hottestKey"]) == 60
    key = Odd()
    odd.look([key] * 200)
    assert odd.hottest()["hottestKey"] == "<Odd>"
