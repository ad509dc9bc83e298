"""The index of texts and bytes is a dict, in both forms of its kernels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.kernels.bytes_index import ByteKeys, BytesIndex
from tests.harness.kernel_forms import use_form

KEYS = st.binary(max_size=12) | st.sampled_from([b"", b"\0", b"\0\0", b"a", b"ab"])
FORMS = pytest.mark.parametrize("form", ["compiled", "plain"])


def byte_keys(keys: list[bytes]) -> ByteKeys:
    return ByteKeys.of_column(pa.array(keys, pa.binary()))


@FORMS
@settings(max_examples=30)
@given(steps=st.lists(st.tuples(st.booleans(), st.sets(KEYS, max_size=20)), max_size=6))
def test_keys_come_and_go(form: str, steps: list[tuple[bool, set[bytes]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        index, model, number = BytesIndex(), dict[bytes, int](), 0
        for is_added, keys in steps:
            if is_added:
                fresh = [key for key in keys if key not in model]
                numbers = range(number, number + len(fresh))
                number += len(fresh)
                index.add(byte_keys(fresh), np.array(numbers, np.int64))
                model.update(zip(fresh, numbers))
            else:
                gone = [key for key in keys if key in model]
                index.remove(byte_keys(gone))
                for key in gone:
                    del model[key]
            asked = [*keys, *model, b"asked", b""]
            assert index.find(byte_keys(asked)).tolist() == [model.get(key, -1) for key in asked]
        result, numbers_found = index.entries()
        assert dict(zip(result.to_column(pa.large_binary()).to_pylist(), numbers_found.tolist())) == model
        assert len(index) == len(model)


@FORMS
@settings(max_examples=30)
@given(steps=st.lists(st.tuples(st.booleans(), st.lists(KEYS, max_size=20)), max_size=6))
def test_numbers_that_the_index_gives_are_dense_and_used_again(
    form: str, steps: list[tuple[bool, list[bytes]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        index, model = BytesIndex(), dict[bytes, int]()
        most = 0
        for is_added, keys in steps:
            if is_added:
                numbers = index.intern(byte_keys(keys)).tolist()
                assert all(model.get(key, number) == number for key, number in zip(keys, numbers))
                model.update(zip(keys, numbers))
                most = max(most, len(model))
            else:
                gone = [key for key in dict.fromkeys(keys) if key in model]
                assert index.release(byte_keys(gone)).tolist() == [model.pop(key) for key in gone]
            assert len(index) == len(set(model.values())) == len(model)
            assert all(number < most for number in model.values())


@FORMS
def test_many_keys_and_an_arena_that_grows(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    index, count = BytesIndex(), 2_000 if form == "plain" else 50_000
    strings = pa.array([f"key {number}" * (number % 4) + f"{number}" for number in range(count)])
    for start in range(0, count, 700):
        part = strings.slice(start, 700)
        assert index.intern(ByteKeys.of_column(part)).tolist() == list(range(start, start + len(part)))
    assert (index.find(ByteKeys.of_column(strings)) == np.arange(count)).all()
    result, numbers = index.entries()
    assert result.to_column(pa.large_string()).take(pa.array(np.argsort(numbers))).cast(pa.string()).equals(strings)


@FORMS
def test_neither_tombstones_nor_their_bytes_fill_the_index(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_form(form, monkeypatch)
    index = BytesIndex()
    for start in range(0, 20_000, 100):
        keys = byte_keys([f"a key with some bytes {number}".encode() for number in range(start, start + 100)])
        index.intern(keys)
        index.release(keys)
    assert len(index) == 0 and index.kept_bytes < 40_000


def test_slices_and_wide_offsets_of_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("compiled", monkeypatch)
    index = BytesIndex()
    index.intern(ByteKeys.of_column(pa.array(["x", "a", "bc", ""]).slice(1)))
    assert index.find(ByteKeys.of_column(pa.array(["bc", "", "x", "a"], pa.large_string()))).tolist() == [1, 2, -1, 0]
    assert index.find(ByteKeys.of_column(pa.array([], pa.string()))).tolist() == []
    chosen = ByteKeys.of_column(pa.array(["a", "bc", "z"])).take(np.array([1, 0]))
    assert index.find(chosen).tolist() == [1, 0]


def test_without_compiled_kernels_it_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("none", monkeypatch)
    assert not BytesIndex.is_ready(1_000_000)
    with pytest.raises(RuntimeError, match="is not compiled"):
        BytesIndex().find(byte_keys([b"a"]))
