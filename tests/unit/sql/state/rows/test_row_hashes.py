"""Rows have the same hash just if they are equal, in batches and in the columns that keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.sql.state.join_side import JoinSide, SideSpec
from funke.engine.sql.state.rows.growing_columns import GrowingColumns
from funke.engine.sql.state.rows.row_copies import BatchColumns
from funke.engine.sql.state.rows.row_hashes import RowHashes
from tests.harness.kernel_forms import use_form
from tests.unit.sql.state.rows.test_growing_columns import VALUES

KINDS = [kind for kind in VALUES if not pa.types.is_nested(kind)]
SCHEMA = pa.schema([("k", pa.int64()), ("text", pa.string())])


def hashes_of(rows: list[tuple[Any, ...]], kinds: list[pa.DataType]) -> tuple[list[int], list[int]]:
    """Of a batch out of the middle of another one, and of the same rows as they are kept."""
    columns = [
        pa.array([None, *(row[number] for row in rows)], kind).slice(1, len(rows)) for number, kind in enumerate(kinds)
    ]
    names = [str(number) for number in range(len(kinds))]
    batch = pa.record_batch(columns, names)
    held, hashes, kept = BatchColumns(batch.schema), RowHashes(range(len(kinds))), GrowingColumns(batch.schema)
    held.hold(batch)
    assert hashes.becomes_compiled(held)
    for row in range(len(rows)):
        kept.add(batch.slice(row, 1))
    words = kept.words()
    assert words is not None
    return hashes.of(held).tolist(), hashes.of_table(words, len(rows)).tolist()


@pytest.mark.parametrize("form", ["compiled", "plain"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_have_the_same_hash_just_if_they_are_equal(
    form: str, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    use_form(form, monkeypatch)
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in kinds)), min_size=1, max_size=8))
    rows += rows[:2]
    of_batch, of_columns = hashes_of(rows, kinds)
    assert of_batch == of_columns
    for one, its in zip(rows, of_batch):
        for other, other_hash in zip(rows, of_batch):
            assert (one == other) == (its == other_hash)
    use_form("compiled" if form == "plain" else "plain", monkeypatch)
    assert hashes_of(rows, kinds)[0] == of_batch


def test_there_is_one_zero_and_one_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("compiled", monkeypatch)
    for kind in (pa.float64(), pa.float32()):
        numbers = [(each,) for each in (0.0, -0.0, float("nan"), -float("nan"), None, 1.0)]
        (zero, minus, nan, other_nan, null, one), _ = hashes_of(numbers, [kind])
        assert zero == minus and nan == other_nan and len({zero, nan, null, one}) == 4


def test_strings_do_not_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    use_form("compiled", monkeypatch)
    rows = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), ("abc", None), ("a\0", "bc")]
    of_batch, _ = hashes_of(rows, [pa.string()] * 2)
    assert len({*of_batch}) == len(rows)


def test_rows_are_taken_back_when_machine_code_has_come_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    side = JoinSide(SideSpec(SCHEMA, (0,), None, True))
    data = pa.record_batch([pa.array(range(2000)), pa.array([f"text {row}" for row in range(2000)])], schema=SCHEMA)
    numbers, matches = np.arange(2000), np.zeros(2000, np.int64)
    use_form("none", monkeypatch)
    side.add(data, numbers, np.ones(2000, np.uint8), matches, 0)
    use_form("compiled", monkeypatch)
    side.add(data.slice(0, 1000), numbers[:1000], np.zeros(1000, np.uint8), matches[:1000], 0)
    assert side.live_rows()[0].equals(data.slice(1000))
