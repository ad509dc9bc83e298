"""Columns that grow hold what was added, whatever the pieces."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.rows.growing_columns import GrowingColumns
from funke.engine.sql.state.rows.row_bytes import row_bytes
from tests.harness.kernel_forms import use_form

_DAY = datetime.date(2024, 2, 29)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int32(): st.integers(-5, 5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=9),
    pa.binary(): st.binary(max_size=9),
    pa.timestamp("ms"): st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
        lambda each: each.replace(microsecond=each.microsecond // 1000 * 1000)
    ),
    pa.date32(): st.dates(),
    pa.decimal128(9, 2): st.integers(-999, 999).map(lambda each: Decimal(each) / 100),
    pa.list_(pa.int32()): st.lists(st.integers(0, 3), max_size=3),
    pa.struct([("a", pa.int64()), ("b", pa.string())]): st.fixed_dictionaries(
        {"a": st.integers(0, 3), "b": st.text(max_size=2)}
    ),
}
KINDS = pytest.mark.parametrize("kind", VALUES, ids=str)


@pytest.fixture(params=["compiled", "plain", "none"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The form in which kernels run."""
    use_form(request.param, monkeypatch)
    return str(request.param)


@KINDS
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_are_found_by_their_numbers(form: str, kind: Any, data: st.DataObject) -> None:
    values = VALUES[kind]
    for optional in (values, st.none() | values):
        pieces = data.draw(st.lists(st.lists(optional, max_size=20), max_size=5))
        columns = GrowingColumns(pa.schema([("c", kind)]))
        for piece in pieces:
            # A piece out of the middle of an array, as batches are.
            whole = pa.array([None, *piece, None], kind).slice(1, len(piece))
            columns.add(pa.record_batch([whole], ["c"]))
        every = [value for piece in pieces for value in piece]
        assert columns.count == len(every)
        rows = data.draw(st.lists(st.integers(-1, len(every) - 1), max_size=30))
        (column,) = columns.take(np.array(rows, np.int64))
        assert column.type == kind
        assert column.to_pylist() == [None if row < 0 else every[row] for row in rows]
        columns.clear()
        columns.add(pa.record_batch([pa.array(every[::-1], kind)], ["c"]))
        assert columns.take(np.arange(len(every)))[0].to_pylist() == every[::-1]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_are_taken_as_a_batch(form: str, data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=6))
    values = data.draw(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in kinds)), max_size=12))
    schema = pa.schema([(f"c{number}", kind) for number, kind in enumerate(kinds)])
    columns = GrowingColumns(schema)
    arrays = [pa.array([row[number] for row in values], kind) for number, kind in enumerate(kinds)]
    columns.add(pa.record_batch(arrays, schema=schema))
    rows = data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=20))
    rows_taken = columns.take_batch(np.array(rows, np.int64))
    rows_taken.validate(full=True)
    assert rows_taken.schema == schema and rows_taken.num_rows == len(rows)
    expected = [(None,) * len(kinds) if row < 0 else values[row] for row in rows]
    assert list(zip(*(column.to_pylist() for column in rows_taken.columns))) == expected
    assert [each.null_count for each in rows_taken.columns] == [
        sum(row[number] is None for row in expected) for number in range(len(kinds))
    ]


def test_strings_may_be_longer_than_the_room(form: str) -> None:
    columns = GrowingColumns(pa.schema([("c", pa.string())]))
    strings = ["x" * size for size in (0, 100_000, 3, 50_000)]
    for text in strings:
        columns.add(pa.record_batch([pa.array([text])], ["c"]))
    (column,) = columns.take(np.array([3, 1, 0, 2]))
    assert column.to_pylist() == [strings[3], strings[1], strings[0], strings[2]]


@settings(max_examples=60)
@given(data=st.data())
def test_rows_have_the_same_bytes_just_if_they_are_equal(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in kinds)), min_size=1, max_size=12))
    rows += rows[:3]
    columns = [pa.array([row[number] for row in rows], kind) for number, kind in enumerate(kinds)]
    given_bytes = row_bytes(columns).to_pylist()
    for one, its in zip(rows, given_bytes):
        for other, other_bytes in zip(rows, given_bytes):
            assert (one == other) == (its == other_bytes)


def test_there_is_one_zero_and_one_nan() -> None:
    numbers = pa.array([0.0, -0.0, float("nan"), -float("nan"), None, 1.0])
    zero, minus, nan, other_nan, null, one = row_bytes([numbers]).to_pylist()
    assert zero == minus and nan == other_nan and len({zero, nan, null, one}) == 4


def test_parts_of_a_row_do_not_run_together() -> None:
    pair = row_bytes([pa.array(["a", "ab"]), pa.array(["bc", "c"])]).to_pylist()
    assert pair[0] != pair[1]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
def test_more_strings_than_32_bits_count(form: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("funke.engine.sql.state.rows.growing_columns._MOST_BYTES", 10)
    columns = GrowingColumns(pa.schema([("c", kind)]))
    for _ in range(3):
        columns.add(pa.record_batch([pa.array(["abc", None, "defg"], kind)], ["c"]))
    (column,) = columns.take(np.array([8, 0, 4, 7], np.int64))
    assert column.equals(pa.array(["defg", "abc", None, None], kind))
