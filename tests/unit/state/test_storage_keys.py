"""Every key a user can think of finds its state again."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from funke.engine.state.storage_keys import KeyStandIn, group_of, original_key, storage_key, storage_keys
from funke.engine.types import Row, key_group

NAN = float("nan")


@pytest.mark.parametrize("key", ["a", 1, 1.5, None, True, b"x", ("a", 1), Row("a", 1), Decimal("1.5"), frozenset({1})])
def test_hashable_keys_are_kept_as_they_are(key: object) -> None:
    assert storage_key(key) is key
    assert storage_keys([key])[0] is key
    assert original_key(key) is key


@pytest.mark.parametrize("key", [[1, 2], {"a": 1}, ("a", [1]), {1, 2}, bytearray(b"x"), Row("a", [1]), NAN])
def test_other_keys_get_a_stand_in_that_equals_only_its_like(key: object) -> None:
    stored = storage_key(key)
    assert isinstance(stored, KeyStandIn)
    assert original_key(stored) is key
    assert stored == storage_keys([key])[0]
    assert hash(stored) == hash(storage_key(key))
    assert stored != storage_key([1, 2, 3])
    assert stored != key
    assert pickle.loads(pickle.dumps(stored)) == stored


def test_one_unhashable_key_leaves_the_others_alone() -> None:
    assert storage_keys(["a", [1], 2.0]) == ["a", KeyStandIn([1]), 2.0]


def test_the_key_group_of_a_stand_in_is_that_of_its_key() -> None:
    assert group_of(storage_key([1, 2]), 128) == key_group([1, 2], 128)
    assert group_of("a", 128) == key_group("a", 128)
