"""Every key a user can think of finds its state again, and only its own."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest

from funke.engine.state.storage_keys import KeyStandIn, group_of, original_key, storage_key, storage_keys
from funke.engine.types import Row
from funke.engine.types.keys.key_groups import KeyGroups

NAN = float("nan")


@dataclass(frozen=True)
class Account:
    number: int


@dataclass
class Mutable:
    number: int


HELD_AS_THEY_ARE = ["a", 1, 1.5, None, b"x", ("a", 1), ("a", ("b", None)), Row("a", 1), frozenset({1}), Account(1)]
HELD_BY_STAND_INS: list[Any] = [
    True,
    1.0,
    NAN,
    Decimal("1.5"),
    [1, 2],
    {"a": 1},
    ("a", [1]),
    ("a", True),
    {1, 2},
    bytearray(b"x"),
    Row("a", [1]),
    Mutable(1),
]


@pytest.mark.parametrize("key", HELD_AS_THEY_ARE)
def test_plain_keys_are_kept_as_they_are(key: object) -> None:
    assert storage_key(key) is key
    assert storage_keys([key])[0] is key
    assert original_key(key) is key


@pytest.mark.parametrize("key", HELD_BY_STAND_INS)
def test_other_keys_get_a_stand_in(key: object) -> None:
    stored = storage_key(key)
    assert isinstance(stored, KeyStandIn)
    assert original_key(stored) is key
    assert stored == storage_keys([key])[0]
    assert hash(stored) == hash(storage_key(pickle.loads(pickle.dumps(key))))
    assert pickle.loads(pickle.dumps(stored)) == stored
    assert group_of(stored, KeyGroups(128)) == KeyGroups(128).of(key)


def test_keys_of_different_types_are_different_keys() -> None:
    alike: list[Any] = [1, 1.0, True, Decimal(1), (1,), (True,), (1.0,), [1], [True], Row(1), Row(True), {1}, {1: 1}]
    for left, right in combinations(alike, 2):
        assert storage_key(left) != storage_key(right), (left, right)


def test_equal_keys_are_the_same_key() -> None:
    for make in (
        lambda: [1, [2]],
        lambda: {"a": 1, "b": [2]},
        lambda: float("nan"),
        lambda: (float("nan"), 1),
        lambda: Row("a", [1]),
        lambda: datetime.date(2020, 1, 1),
        lambda: Mutable(3),
    ):
        assert storage_key(make()) == storage_key(make())
    assert storage_key({"a": 1, "b": 2}) == storage_key({"b": 2, "a": 1})


def test_one_odd_key_leaves_the_others_alone() -> None:
    assert storage_keys(["a", [1], 2.5]) == ["a", KeyStandIn([1]), 2.5]
    assert storage_keys([("a", 1), ("b", True)]) == [("a", 1), KeyStandIn(("b", True))]
