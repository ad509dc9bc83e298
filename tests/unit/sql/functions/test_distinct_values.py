"""Functions that are slow for each value are called once for each distinct one of a batch."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.functions.catalog import FUNCTIONS
from funke.engine.sql.functions.distinct_values import OverDistinct
from funke.engine.sql.functions.evaluation import column_function
from funke.engine.sql.functions.function import Argument, Session, bind, constant
from funke.engine.sql.functions.users.user_scalars import as_scalar
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.logical.sql_text import from_sql_text


class Concatenation:
    """Writes its arguments one behind the other, and remembers for how many rows."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def __call__(self, columns: Sequence[Any], length: int) -> Any:
        self.lengths.append(length)
        lists = [each.to_pylist() if isinstance(each, pa.Array) else [each.as_py()] * length for each in columns]
        return pa.array([repr(each) for each in zip(*lists)])


def test_once_for_each_distinct_value() -> None:
    function = Concatenation()
    column = pa.array([None, "a", "b", "a"] * 25)
    assert OverDistinct(function)([column], 100).to_pylist() == Concatenation()([column], 100).to_pylist()
    assert function.lengths == [3]


@settings(max_examples=50, derandomize=True)
@given(data=st.data())
def test_several_columns(data: st.DataObject) -> None:
    """Whatever repeats, the result is that of all rows."""
    numbers = pa.array(data.draw(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=40, max_size=60)))
    words = pa.array(
        data.draw(st.lists(st.sampled_from(["x", "y", None]), min_size=len(numbers), max_size=len(numbers)))
    )
    columns = [numbers, pa.scalar(7), words, numbers]
    result = OverDistinct(Concatenation())(columns, len(numbers))
    assert result.to_pylist() == Concatenation()(columns, len(numbers)).to_pylist()


def test_what_does_not_repeat_is_looked_at_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(
        "funke.engine.sql.functions.distinct_values._has_codes", lambda data_type: bool(looks.append(data_type)) or True
    )
    function = Concatenation()
    over_distinct = OverDistinct(function)
    for _ in range(1000):
        over_distinct([pa.array(range(40))], 40)
    assert function.lengths == [40] * 1000
    assert len(looks) < 25
    # It finds out when that changes.
    for _ in range(65):
        over_distinct([pa.array([1, 2] * 20)], 40)
    assert function.lengths[-1] == 2


def test_floating_point_zeros_are_two_values() -> None:
    column = pa.array([0.0, -0.0] * 20)
    assert OverDistinct(Concatenation())([column], 40).to_pylist() == ["(0.0,)", "(-0.0,)"] * 20


@pytest.mark.parametrize(
    ("pattern", "written"), [("yyyy-MM-dd", 1), ("HH:mm", 2), ("yyyy-MM-dd HH:mm:ss", 100), ("dd. MMM", 1)]
)
@pytest.mark.parametrize(("type_text", "zone"), [("TIMESTAMP(3)", None), ("TIMESTAMP_LTZ(3)", datetime.UTC)])
def test_date_format_writes_what_a_pattern_distinguishes(
    pattern: str, written: int, type_text: str, zone: datetime.tzinfo | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The milliseconds of 100 seconds."""
    counts: list[int] = []

    class Counting(OverDistinct):
        def __init__(self, function: Any) -> None:
            super().__init__(lambda columns, length: (counts.append(length), function(columns, length))[1])

    monkeypatch.setattr("funke.engine.sql.functions.dates.times.OverDistinct", Counting)
    arguments = [Argument(from_sql_text(type_text)), constant(from_sql_text("STRING"), pattern)]
    start = datetime.datetime(2026, 1, 2, 10, 59, tzinfo=zone)
    timestamps = pa.array([start + datetime.timedelta(milliseconds=10 * each) for each in range(10_000)])
    call = bind(FUNCTIONS["date_format"], arguments, Session())
    results = column_function(call)([timestamps, pa.scalar(pattern)], len(timestamps))
    assert counts == [written if zone is None else 100]
    assert len(results) == 10_000
    assert results[0].as_py() == call.body()(start, pattern)
    assert results[-1].as_py() == call.body()(start + datetime.timedelta(seconds=99.99), pattern)


def test_functions_of_users_see_every_row() -> None:
    """They may count."""
    seen = []

    class Doubled:
        def eval(self, value: int) -> int:
            seen.append(value)
            return 2 * value

    user = UserFunction("doubled", "scalar", Doubled(), None, (from_sql_text("INT"),))
    call = bind(as_scalar(user), [Argument(from_sql_text("INT"))])
    results = column_function(call)([pa.array([1, 2] * 50, pa.int32())], 100)
    assert results.to_pylist() == [2, 4] * 50
    assert seen == [1, 2] * 50
