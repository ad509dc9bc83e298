"""CAST and TRY_CAST of columns give what the cast of each value gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.functions.evaluation import column_function, mapped_body
from funke.engine.sql.functions.function import Argument, constant, symbol
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.sql_calls import bound_call, same
from tests.unit.sql.functions.test_kernels import outcome, values_of

NUMBERS = ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"]
DECIMALS = ["DECIMAL(4, 0)", "DECIMAL(10, 2)", "DECIMAL(20, 3)", "DECIMAL(18, 18)", "DECIMAL(38, 0)", "DECIMAL(38, 18)"]
TIMESTAMPS = ["DATE", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)"]
STRINGS = ["STRING", "VARCHAR(4)", "CHAR(6)"]
GROUPS = [[*NUMBERS, *DECIMALS, *STRINGS, "BOOLEAN"], [*TIMESTAMPS, *STRINGS]]
NUMBER_STRINGS = st.one_of(
    st.integers().map(str),
    st.integers(-200, 200).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.floats().map(repr),
    st.text(alphabet="0123456789+-. eExXnNaif_dD", max_size=6),
    st.sampled_from([" 7 ", "+7", "7.", ".5", "NaN", "Infinity", "-Infinity", "nan", "0x1F", "1e3", "1.5f", "true"]),
)
TIMESTAMP_STRINGS = st.one_of(
    st.datetimes().map(str),
    st.dates().map(str),
    st.sampled_from(
        ["2024-01-02 03", "2024-01-02 03:04", "2024-1-2", "2024-02-30", "0000-01-01", "2024-01-02T03:04:05"]
    ),
    st.text(alphabet="0123456789-: .T", max_size=20),
)


@pytest.mark.parametrize("source", [*NUMBERS, *DECIMALS, *TIMESTAMPS, *STRINGS[:2], "BOOLEAN"])
@settings(max_examples=60, derandomize=True, deadline=None)
@given(data=st.data())
def test_column_equals_values(source: str, data: st.DataObject) -> None:
    target = data.draw(st.sampled_from([each for group in GROUPS if source in group for each in group]))
    name = data.draw(st.sampled_from(["cast", "try_cast"]))
    call = bound_call(name, [Argument(from_sql_text(source)), symbol(from_sql_text(target))])
    if call is None:
        return
    some = values_of(source)
    if source in STRINGS:
        strings = TIMESTAMP_STRINGS if target in TIMESTAMPS else NUMBER_STRINGS
        some = st.one_of(st.none(), strings.map(lambda text: text[:4] if source == "VARCHAR(4)" else text))
    values = data.draw(st.lists(some, min_size=1, max_size=4))
    columns = [from_values(values, call.types[0]), call.arguments[1].value]
    actual, expected = (outcome(make(call), columns, len(values), call) for make in (column_function, mapped_body))
    assert same(actual, expected), f"{values}: column {actual}, values {expected}"


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        ("BIGINT", "DECIMAL(20, 3)", 10**17 - 1, Decimal("99999999999999999.000")),
        ("BIGINT", "DECIMAL(20, 3)", 10**17, None),
        ("BIGINT", "DECIMAL(20, 3)", -(10**17), None),
        ("BIGINT", "DECIMAL(38, 20)", 10**18 - 1, Decimal("999999999999999999.00000000000000000000")),
        ("BIGINT", "DECIMAL(38, 20)", -(2**63), None),
        ("DECIMAL(10, 2)", "DECIMAL(10, 1)", Decimal("0.25"), Decimal("0.3")),
        ("DECIMAL(10, 2)", "DECIMAL(10, 1)", Decimal("-0.25"), Decimal("-0.3")),
        ("DECIMAL(3, 2)", "DECIMAL(2, 1)", Decimal("9.95"), None),
        ("DECIMAL(38, 18)", "DECIMAL(38, 2)", Decimal("9" * 20 + ".995"), Decimal("1" + "0" * 20 + ".00")),
        ("DECIMAL(10, 2)", "BIGINT", Decimal("-1.99"), -1),
        ("DECIMAL(20, 0)", "INT", Decimal(2**32 + 5), 5),
        ("DECIMAL(38, 0)", "BIGINT", Decimal(2**70 + 3), 3),
        ("DECIMAL(20, 3)", "DOUBLE", Decimal("12345678901234567.891"), 1.2345678901234568e16),
        ("DOUBLE", "TINYINT", 300.7, 44),
        ("DOUBLE", "BIGINT", 1e30, 2**63 - 1),
        ("DOUBLE", "INT", float("nan"), 0),
        ("STRING", "BIGINT", " 12 ", 12),
    ],
)
def test_edges(source: str, target: str, value: Any, expected: Any) -> None:
    call = bound_call("cast", [Argument(from_sql_text(source)), symbol(from_sql_text(target))])
    assert call is not None and call.kernel() is not None
    column = from_values([value, None, value], call.types[0])
    for make in (column_function, mapped_body):
        for part in (column, column.slice(1)):
            results = to_values(make(call)([part, call.arguments[1].value], len(part)), call.result)
            assert results == [expected, None, expected][-len(part) :]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(strings=st.lists(st.one_of(st.none(), TIMESTAMP_STRINGS), min_size=1, max_size=3), pattern=st.booleans())
def test_to_timestamp(strings: list[str | None], pattern: bool) -> None:
    string = from_sql_text("STRING")
    given_pattern = constant(string.not_null(), "yyyy-MM-dd HH:mm:ss")
    call = bound_call("to_timestamp", [Argument(string), *([given_pattern] if pattern else [])])
    assert call is not None
    columns = [from_values(strings, string), *([from_values([given_pattern.value], string)[0]] if pattern else [])]
    actual, expected = (outcome(make(call), columns, len(strings), call) for make in (column_function, mapped_body))
    assert same(actual, expected), f"{strings}: column {actual}, values {expected}"
