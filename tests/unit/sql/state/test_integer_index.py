"""The index of integer keys is a dict."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.integer_index import IntegerIndex
from funke.engine.sql.state.key_index import KeyIndex

KEYS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.sets(KEYS, max_size=20)), max_size=6))
def test_keys_come_and_go(steps: list[tuple[bool, set[int]]]) -> None:
    index, known, number = IntegerIndex(), dict[int, int](), 0
    for is_added, keys in steps:
        if is_added:
            fresh = [key for key in keys if key not in known]
            numbers = range(number, number + len(fresh))
            number += len(fresh)
            index.add(np.array(fresh, np.int64), np.array(numbers, np.int64))
            known.update(zip(fresh, numbers))
        else:
            gone = [key for key in keys if key in known]
            index.remove(np.array(gone, np.int64))
            for key in gone:
                del known[key]
        asked = [*keys, *known, 7, 8]
        assert index.find(np.array(asked, np.int64)).tolist() == [known.get(key, -1) for key in asked]
    assert dict(zip(*(each.tolist() for each in index.entries()))) == known


def test_many_keys() -> None:
    index = IntegerIndex()
    keys = np.arange(100_000) * 1024
    for start in range(0, len(keys), 7000):
        part = keys[start : start + 7000]
        index.add(part, np.arange(start, start + len(part)))
    assert (index.find(keys) == np.arange(len(keys))).all()
    assert (index.find(keys + 1) == -1).all()


def test_keys_of_several_kinds() -> None:
    index = KeyIndex()
    index.add([1, "a", None, 2**70], np.arange(4))
    index.add(np.array([5, 6]), np.array([4, 5]))
    assert index.find(["a", 6, 1, 2**70, None, "b"]).tolist() == [1, 5, 0, 3, 2, -1]
    index.remove(["a", 1])
    assert index.find([1, "a", 5]).tolist() == [-1, -1, 4]
    keys, numbers = index.entries()
    assert sorted(zip(keys, numbers.tolist()), key=repr) == sorted([(None, 2), (2**70, 3), (5, 4), (6, 5)], key=repr)
