"""Rows that are packed come back as they were, value by value of a backend."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.errors import StateError
from funke.engine.sql.state.rows.packed_rows import PackedRows
from tests.harness.kernel_forms import use_form

SCHEMA = pa.schema(
    [
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("list", pa.list_(pa.int64())),
        ("time", pa.timestamp("ms")),
        ("bytes", pa.binary()),
        ("number", pa.int32()),
    ]
)
ROW = st.tuples(
    st.none() | st.booleans(),
    st.none() | st.text(max_size=5),
    st.none() | st.sampled_from([Decimal("1.50"), Decimal("-7.00")]),
    st.none() | st.lists(st.integers(0, 3), max_size=2),
    st.none() | st.sampled_from([datetime(2020, 1, 1), datetime(1960, 1, 1)]),
    st.none() | st.binary(max_size=4),
    st.none() | st.integers(-5, 5),
)


def batch_of(rows: list[Any], schema: Any = SCHEMA) -> Any:
    columns = [pa.array([row[index] for row in rows], field.type) for index, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@pytest.mark.parametrize("form", ["compiled", "plain"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(st.lists(ROW, min_size=1, max_size=4), max_size=4), skipped=st.integers(0, 2))
def test_rows_come_back(form: str, groups: list[list[Any]], skipped: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_form(form, patch)
        rows = [row for group in groups for row in group]
        # A slice of a longer batch, whose buffers begin before its rows.
        data = batch_of([ROW_OF_NULLS] * skipped + rows).slice(skipped)
        counts = [len(group) for group in groups]
        values = PackedRows(SCHEMA).pack(data, (np.cumsum(counts) - counts).astype(np.int64))
        unpacked, found_counts = PackedRows(SCHEMA).unpack(values)
        assert unpacked.to_pylist() == data.to_pylist()
        assert found_counts.tolist() == counts


ROW_OF_NULLS = (None,) * len(SCHEMA)


def test_rows_of_one_size_need_no_search() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.float64())])
    data = batch_of([(1, 0.5), (None, None), (3, -1.0)], schema)
    values = PackedRows(schema).pack(data, np.array([0, 2]))
    unpacked, counts = PackedRows(schema).unpack(values)
    assert unpacked.equals(data) and counts.tolist() == [2, 1]


def test_other_bytes_are_rejected() -> None:
    with pytest.raises(StateError, match="another query"):
        PackedRows(SCHEMA).unpack([b"\x01\x00\x00\x00" + b"x" * 90])
