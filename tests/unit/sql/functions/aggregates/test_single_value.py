"""SINGLE_VALUE on batches gives what its body gives row by row, and fails where that fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.aggregates.catalog import create_kernel
from funke.engine.sql.functions.aggregates.rows import AggregateRows, ArgumentColumn
from funke.engine.sql.functions.aggregates.segments import Segments
from funke.engine.sql.functions.aggregates.single_value import SINGLE_VALUE
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.types.logical.atomic_types import IntType

CALL = bind_aggregate(SINGLE_VALUE, [Argument(IntType())])
ROWS = st.lists(st.tuples(st.integers(0, 1), st.none() | st.integers(0, 9), st.sampled_from([1, -1])), min_size=1)


def by_body(rows: list[tuple[int, Any, int]]) -> list[Any] | None:
    """The results after each row; None if there are several rows."""
    body = CALL.body
    accumulators = [body.create(), body.create()]
    results = []
    for group, value, sign in rows:
        try:
            (body.accumulate if sign > 0 else body.retract)(accumulators[group], value)
        except TableException:
            return None
        results.append(body.value(accumulators[group]))
    return results


@given(ROWS)
def test_results_are_those_of_the_body(rows: list[tuple[int, Any, int]]) -> None:
    groups, values, signs = (list(each) for each in zip(*rows))
    _, codes = np.unique(groups, return_inverse=True)
    order, segments = Segments.of_codes(codes, int(codes.max()) + 1)
    column = ArgumentColumn(from_values([values[index] for index in order], IntType()))
    given_rows = AggregateRows(segments, [column], np.array(signs, np.int8)[order])
    kernel = create_kernel(CALL, has_retractions=True)
    expected = by_body(rows)
    if expected is None:
        with pytest.raises(TableException, match="SingleValueAggFunction received more than one element"):
            kernel.running(kernel.create(len(segments)), given_rows)
        return
    _, result = kernel.running(kernel.create(len(segments)), given_rows)
    assert to_values(result, IntType()) == [expected[index] for index in order]


def test_what_two_accumulators_hold() -> None:
    kernel = create_kernel(CALL)
    one, nothing = kernel.create(1), kernel.create(1)
    one = (np.array([5], object), np.array([1]))
    assert to_values(kernel.values(kernel.merge(nothing, one)), IntType()) == [5]
    assert to_values(kernel.values(kernel.merge(one, nothing)), IntType()) == [5]
    with pytest.raises(TableException):
        kernel.merge(one, one)
