"""The table of values is a dict for each group, with a bit for each call."""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.functions.aggregates.value_table import ValueTable
from tests.harness.kernel_forms import use_form

ROWS = st.tuples(
    st.integers(0, 3), st.none() | st.integers(-3, 3) | st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 7)
)


def table() -> ValueTable:
    return ValueTable(lambda values: values.tolist(), lambda keys: np.array(keys, np.int64))


def take_in(values: ValueTable, entries: Any, rows: list[Any]) -> list[int]:
    numbers = values.numbers(entries)
    groups = [-1 - numbers[group] if value is None else numbers[group] for group, value, _ in rows]
    plain = [0 if value is None else value for _, value, _ in rows]
    new = values.take_in(*(np.array(each, np.int64) for each in (groups, plain, [bits for *_, bits in rows])))
    return [int(each) for each in new]


@pytest.mark.parametrize("form", ["compiled", "none"])
@settings(max_examples=60, deadline=None)
@given(batches=st.lists(st.lists(ROWS, max_size=10), max_size=5))
def test_new_bits_are_those_that_a_dict_has_not(form: str, batches: list[list[Any]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        values, by_key, model = table(), np.full(4, None, object), [defaultdict[Any, int](int) for _ in range(4)]
        for rows in batches:
            expected = []
            for group, value, bits in rows:
                expected.append(bits & ~model[group][value])
                model[group][value] |= bits
            assert take_in(values, by_key, rows) == expected
            stored = pickle.loads(pickle.dumps(by_key.tolist()))
            expected_values = [{value: bits for value, bits in own.items() if bits} for own in model]
            assert [each or {} for each in stored] == expected_values
            if len(rows) % 2:  # as after a restart
                values, by_key[:] = table(), stored


def test_the_table_grows_and_forgets_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("funke.engine.sql.functions.aggregates.value_table._FEW_GROUPS", 10)
    values = table()
    for turn in range(50):
        groups = np.full(1, None, object)
        rows = [(0, value, 1) for value in range(100)]
        assert take_in(values, groups, rows) == [1] * 100
        assert take_in(values, groups, rows) == [0] * 100
        assert int(values._slots_in_use[0]) <= 100 * (turn + 1)
    assert int(values._slots_in_use[0]) < 3000
    assert len(pickle.loads(pickle.dumps(groups.tolist()))[0]) == 100
