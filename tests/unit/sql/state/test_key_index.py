"""The index of stored keys is a dict, whatever the keys are and however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.key_index import KeyIndex, TextKeys
from tests.harness.kernel_forms import use_form

KEYS = st.one_of(
    st.integers(-5, 5),
    st.integers(),
    st.text(max_size=3),
    st.sampled_from(["\ud800", "a\0", "a"]),
    st.none(),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
)


@settings(max_examples=50)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "remove", "texts"]), st.sets(KEYS, max_size=12)), max_size=8),
    ready=st.integers(0, 8),
)
def test_keys_of_all_kinds(steps: list[tuple[str, set[Any]]], ready: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form("none", patch)
        index, model, number = KeyIndex(), dict[Any, int](), 0
        for turn, (step, keys) in enumerate(steps):
            if turn == ready:  # from now on texts have an index of their own
                use_form("compiled", patch)
            if step == "remove":
                gone = [key for key in keys if key in model]
                index.remove(gone)
                for key in gone:
                    del model[key]
                continue
            fresh = [key for key in keys if key not in model]
            if step == "texts":
                fresh = [key for key in fresh if type(key) is str and "\ud800" not in key]
            numbers = np.arange(number, number + len(fresh))
            number += len(fresh)
            given_keys: Any = TextKeys(pa.array(fresh, pa.string())) if step == "texts" else fresh
            assert index.find(given_keys).tolist() == [-1] * len(fresh)
            index.add(given_keys, numbers)
            model.update(zip(fresh, numbers.tolist()))
            assert index.find([*keys, 99]).tolist() == [model.get(key, -1) for key in [*keys, 99]]
        entries, numbers = index.entries()
        assert dict(zip(entries, numbers.tolist())) == model


def test_integers_may_come_as_an_array() -> None:
    index = KeyIndex()
    index.add([1, "a", None, 2**70], np.arange(4))
    index.add(np.array([5, 6]), np.array([4, 5]))
    assert index.find(["a", 6, 1, 2**70, None, "b"]).tolist() == [1, 5, 0, 3, 2, -1]
    index.remove(["a", 1])
    assert index.find([1, "a", 5]).tolist() == [-1, -1, 4]
    assert index.find(np.array([5, 1])).tolist() == [4, -1]


def test_strings_may_be_removed_as_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("none", "compiled"):
        use_form(form, monkeypatch)
        index, keys = KeyIndex(), TextKeys(pa.array(["a", "b\0", "c"]))
        index.find(keys)
        index.add(keys, np.arange(3))
        index.remove(TextKeys(pa.array(["b\0"])))
        assert index.find(keys).tolist() == [0, -1, 2]
        assert index.find(["c", "b", "a"]).tolist() == [2, -1, 0]
