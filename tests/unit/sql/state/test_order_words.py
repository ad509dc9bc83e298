"""Words, and texts behind them, sort rows as plain values do."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.binding.relations import Column, SortKey
from funke.engine.sql.operators.ranks.sort_tuples import sort_tuples
from funke.engine.sql.state.order_words import OrderWords
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.sql_changelogs import batch_of, inserts

VALUES: dict[str, Any] = {
    "BIGINT": st.sampled_from([-(1 << 63), (1 << 63) - 1, 0, -1, 255, 256]),
    "TINYINT": st.integers(-128, 127),
    "BOOLEAN": st.booleans(),
    "DOUBLE": st.floats(width=64) | st.sampled_from([0.0, -0.0, float("nan"), float("-inf")]),
    "FLOAT": st.floats(width=32),
    "DECIMAL(10, 2)": st.decimals(-99, 99, places=2),
    "DECIMAL(38, 0)": st.integers(-(10**37), 10**37).map(Decimal),
    "DATE": st.dates(datetime.date(1960, 1, 1), datetime.date(2030, 1, 1)),
    "TIMESTAMP(3)": st.sampled_from([datetime.datetime(1969, 1, 1), datetime.datetime(2024, 2, 3, 4, 5, 6)]),
    "STRING": st.text(alphabet="ab\0\u00e9\U0001f600", max_size=12),
    "BYTES": st.binary(max_size=10),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("second", ["BIGINT", "STRING"])
@settings(max_examples=30)
@given(data=st.data())
def test_rows_are_sorted_as_their_values_are(kind: str, second: str, data: st.DataObject) -> None:
    columns = [Column("a", from_sql_text(kind)), Column("b", from_sql_text(second))]
    rows = data.draw(
        st.lists(st.tuples(*(st.none() | VALUES[each] for each in (kind, second))), min_size=1, max_size=8)
    )
    order = tuple(SortKey(index, data.draw(st.booleans()), data.draw(st.booleans())) for index in (0, 1))
    batch = batch_of(inserts(rows), columns).data
    if data.draw(st.booleans()):
        rows, batch = rows[1:], batch.slice(1)
    order_words = OrderWords(batch.schema, order)
    words, strings = order_words.of(batch)
    lines = words.reshape(len(rows), order_words.count).tolist()
    own = [(*line, b"" if strings is None else strings[index].as_py()) for index, line in enumerate(lines)]
    expected = sort_tuples(batch, order)
    assert [[_compared(left, right) for right in own] for left in own] == [
        [_compared(left, right) for right in expected] for left in expected
    ]


@pytest.mark.parametrize("kind", [each for each in VALUES if each not in ("STRING", "BYTES")])
@settings(max_examples=30)
@given(data=st.data())
def test_rows_that_are_equal_have_the_same_number(kind: str, data: st.DataObject) -> None:
    columns = [Column("a", from_sql_text(kind))]
    rows = data.draw(st.lists(st.tuples(st.none() | VALUES[kind]), min_size=1, max_size=8))
    order = (SortKey(0, data.draw(st.booleans()), data.draw(st.booleans())),)
    batch = batch_of(inserts(rows), columns).data
    numbers = OrderWords(batch.schema, order).peer_numbers(batch)
    if numbers is not None:
        sorted_rows = sort_tuples(batch, order)
        numbers_of_rows = numbers.tolist()
        assert [[left == right for right in numbers_of_rows] for left in numbers_of_rows] == [
            [left == right for right in sorted_rows] for left in sorted_rows
        ]


def _compared(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)
