"""A side of a join pairs the rows of a batch with its own, whatever the form of the loops."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.join_side import JoinSide, SideSpec
from tests.harness.kernel_forms import use_form

_SCHEMA = pa.schema([("a", pa.int64())])


def side_of(keys: list[int]) -> JoinSide:
    """A side whose rows have keys with these numbers."""
    side = JoinSide(SideSpec(_SCHEMA, (0,), None, False))
    data = pa.record_batch([pa.array(keys, pa.int64())], schema=_SCHEMA)
    side.add(data, np.array(keys, np.int64), np.ones(len(keys), np.uint8), np.zeros(len(keys), np.int64), 0)
    return side


@pytest.mark.parametrize("form", ["compiled", "plain"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=st.lists(st.integers(0, 5), max_size=20), numbers=st.lists(st.integers(-1, 8), max_size=12))
def test_each_row_meets_those_of_its_key(form: str, keys: list[int], numbers: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        side, sought = side_of(keys), np.array(numbers, np.int64)
        counts, rows, indexes = side.pairs(sought, 1000)
        expected = [
            (row, index) for index, number in enumerate(numbers) for row, key in enumerate(keys) if key == number
        ]
        assert rows is not None and list(zip(rows.tolist(), indexes.tolist())) == expected
        assert counts.tolist() == [keys.count(number) for number in numbers] == side.counts(sought).tolist()
        assert side.matching(sought, len(expected)).tolist() == [row for row, _ in expected]


def test_too_many_pairs_are_only_counted() -> None:
    numbers = np.zeros(50, np.int64)
    counts, rows, _ = side_of([0] * 100).pairs(numbers, 4999)
    assert rows is None and counts.tolist() == [100] * 50
    assert side_of([0] * 100).pairs(numbers, 5000)[1] is not None
