"""The index of integer keys is a dict, in every form of its kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.kernels.integer_index import IntegerIndex
from tests.harness.kernel_forms import use_form

KEYS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
FORMS = pytest.mark.parametrize("form", ["compiled", "plain", "none"])


@FORMS
@settings(max_examples=30)
@given(steps=st.lists(st.tuples(st.booleans(), st.sets(KEYS, max_size=20)), max_size=6))
def test_keys_come_and_go(form: str, steps: list[tuple[bool, set[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        index, model, number = IntegerIndex(), dict[int, int](), 0
        for is_added, keys in steps:
            if is_added:
                fresh = [key for key in keys if key not in model]
                numbers = range(number, number + len(fresh))
                number += len(fresh)
                index.add(np.array(fresh, np.int64), np.array(numbers, np.int64))
                model.update(zip(fresh, numbers))
            else:
                gone = [key for key in keys if key in model]
                index.remove(np.array(gone, np.int64))
                for key in gone:
                    del model[key]
            asked = [*keys, *model, 7, 8]
            assert index.find(np.array(asked, np.int64)).tolist() == [model.get(key, -1) for key in asked]
        assert dict(zip(*(each.tolist() for each in index.entries()))) == model
        assert len(index) == len(model)


@FORMS
@settings(max_examples=30)
@given(steps=st.lists(st.tuples(st.booleans(), st.lists(KEYS, max_size=20)), max_size=6))
def test_numbers_that_the_index_gives_are_dense_and_used_again(form: str, steps: list[tuple[bool, list[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        index, model = IntegerIndex(), dict[int, int]()
        most = 0
        for is_added, keys in steps:
            if is_added:
                numbers = index.intern(np.array(keys, np.int64)).tolist()
                assert all(model.get(key, number) == number for key, number in zip(keys, numbers))
                model.update(zip(keys, numbers))
                most = max(most, len(model))
            else:
                gone = [key for key in dict.fromkeys(keys) if key in model]
                assert index.release(np.array(gone, np.int64)).tolist() == [model.pop(key) for key in gone]
            assert len(set(model.values())) == len(model)
            assert all(number < most for number in model.values())
        asked = list(model)
        assert index.find(np.array(asked, np.int64)).tolist() == list(model.values())


@FORMS
def test_many_keys(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    index = IntegerIndex()
    keys = np.arange(5_000 if form == "plain" else 100_000) * 1024
    for start in range(0, len(keys), 700):
        part = keys[start : start + 700]
        index.add(part, np.arange(start, start + len(part)))
    assert (index.find(keys) == np.arange(len(keys))).all()
    assert (index.find(keys + 1) == -1).all()


@FORMS
def test_the_table_grows_while_the_index_gives_numbers(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    index = IntegerIndex()
    for count in (1500, 1600, 9000):
        assert (index.intern(np.arange(count)) == np.arange(count)).all()
    assert index.issued == len(index) == 9000


@FORMS
def test_tombstones_do_not_fill_the_table(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    index = IntegerIndex()
    size = index.kept_bytes
    for start in range(0, 20_000, 100):
        keys = np.arange(start, start + 100)
        index.intern(keys)
        index.release(keys)
    assert len(index) == 0 and index.kept_bytes == size


def test_the_forms_can_change_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    index, keys = IntegerIndex(), np.arange(9_000) * 97
    for number, form in enumerate(["none", "compiled", "plain"]):
        use_form(form, monkeypatch)
        part = keys[number * 3000 : number * 3000 + 3000]
        index.add(part, part // 97)
        assert (index.find(keys[: number * 3000 + 3000]) == np.arange(number * 3000 + 3000)).all()


def test_an_array_of_another_type_is_not_taken_for_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("compiled", monkeypatch)
    index = IntegerIndex()
    with pytest.raises(TypeError, match="int64 without gaps, not of float64"):
        index.find(np.zeros(3))
    with pytest.raises(TypeError, match="without gaps"):
        index.find(np.arange(6)[::2])
