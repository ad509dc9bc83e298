"""Which rows a step looks at: those whose results may change, and those that the results are computed of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.state.rows.stepped_rows import SteppedRows, Steps

SCHEMA = pa.schema([pa.field("v", pa.int64())])


def take_in(rows: SteppedRows, values: Any, sign: int = 1) -> list[Steps]:
    data = pa.record_batch([pa.array(values, pa.int64())], schema=SCHEMA)
    rows.reserve_keys(1)
    keys, takes_in = np.zeros(len(data), np.int64), np.full(len(data), sign, np.uint8)
    return list(rows.take_in(data, keys, takes_in))


def rows_of(preceding: int | None) -> SteppedRows:
    """Even numbers below 2 000, in one partition."""
    rows = SteppedRows(SCHEMA, (SortKey(0),), is_rows=True, has_prefixes=False, preceding=preceding, most_size=1 << 20)
    take_in(rows, range(0, 2_000, 2))
    return rows


@pytest.mark.parametrize(
    ("value", "sign", "changed", "rows"),
    [
        (1_001, 1, 3, [998, 1_000, 1_002, 1_004, 1_001]),
        (1_000, 0, 2, [996, 998, 1_000, 1_002, 1_004]),
        (-1, 1, 3, [0, 2, -1]),
        (1_999, 1, 1, [1_996, 1_998, 1_999]),
        (1_998, 0, 0, [1_994, 1_996, 1_998]),
    ],
)
def test_a_step_looks_at_the_frames_around_it(value: int, sign: int, changed: int, rows: list[int]) -> None:
    (steps,) = take_in(rows_of(preceding=2), [value], sign)
    assert steps.lengths.tolist() == [changed]
    assert steps.data.column("v").to_pylist() == rows


def test_steps_far_from_each_other_have_one_image_that_spans_both() -> None:
    (steps,) = take_in(rows_of(preceding=1), [101, 501])
    values = steps.data.column("v").to_pylist()
    assert values == [*range(100, 504, 2), 101, 501]
    images = steps.images
    assert images.lengths.tolist() == [202, 203, 204]
    last = images.rows[images.starts[2] :]
    assert [values[each] for each in last.tolist()] == sorted(values)


def test_without_a_bound_all_rows_behind_change() -> None:
    (steps,) = take_in(rows_of(preceding=None), [1_001])
    assert steps.lengths.tolist() == [500] and steps.data.num_rows == 1_001
