"""Texts of values. The expected texts are those of PyFlink 2.3, but for the pairs with a comment."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.types import ExternalTypeInfo, Instant, LocalTimeTypeInfo, Row, RowKind, TypeInformation, Types
from funke.engine.types.information.collected_form import collector
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.number_text import _java_form, double_text, float_text
from funke.engine.types.text_form import print_writer, text_writer, to_text

T = Types
MIXED = [T.STRING(), T.INT(), T.STRING(), T.BOOLEAN(), T.DOUBLE(), T.BIG_DEC(), T.SQL_DATE(), T.SQL_TIME()]
MIXED += [T.SQL_TIMESTAMP(), T.PRIMITIVE_ARRAY(T.BYTE()), T.PRIMITIVE_ARRAY(T.INT()), T.BASIC_ARRAY(T.STRING())]
MIXED += [T.MAP(T.STRING(), T.INT()), T.TUPLE([T.STRING(), T.INT()]), T.ROW([T.STRING(), T.FLOAT()])]
DAY = datetime.date(2018, 3, 11)
TIMESTAMP = datetime.datetime(2018, 3, 11, 3, 0, 0, 123000)
VALUES = ["a", 1, None, True, 1.5, Decimal("1.50"), DAY, datetime.time(1, 0), TIMESTAMP, b"a\xff", [1, 2], ["x", None]]
VALUES += [{"k": 1}, ("t", 2), Row("n", 1.1)]
JAVA_FIELDS = ["a", "1", "null", "true", "1.5", "1.50", "2018-03-11", "01:00:00", "2018-03-11 03:00:00.123"]
JAVA_FIELDS += ["[97, -1]", "[1, 2]", "[x, null]", "{k=1}", "(t,2)", "+I[n, 1.1]"]
LocalKind = LocalTimeTypeInfo.TimeType


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (T.ROW(MIXED), Row(*VALUES), f"+I[{', '.join(JAVA_FIELDS)}]"),
        (T.TUPLE(MIXED), tuple(VALUES), f"({','.join(JAVA_FIELDS)})"),  # PyFlink rejects None in a tuple
        (T.ROW([T.STRING()]), Row.of_kind(RowKind.UPDATE_BEFORE, "u"), "-U[u]"),
        (T.ROW([T.OBJECT_ARRAY(T.ROW([T.STRING(), T.INT()]))]), Row([Row("a", 1)]), "+I[[+I[a, 1]]]"),
        (T.LIST(T.INT()), [1, 2], "[1, 2]"),
        (T.LIST(T.INT()), [], "[]"),
        (T.MAP(T.STRING(), T.INT()), {"a": 1, "b": None}, "{a=1, b=null}"),
        (T.MAP(T.STRING(), T.LIST(T.DOUBLE())), {"a": [1.5]}, "{a=[1.5]}"),
        (T.SHORT(), -21658, "-21658"),
        (T.BOOLEAN(), False, "false"),
        (T.STRING(), "ü", "ü"),
        (T.STRING(), None, "null"),  # PyFlink loses it
        (T.INSTANT(), Instant(5, 123456789), "1970-01-01T00:00:05.123456789Z"),
        (T.INSTANT(), Instant(5, 0), "1970-01-01T00:00:05Z"),
        (T.INSTANT(), Instant(60, 0), "1970-01-01T00:01:00Z"),
        (T.INSTANT(), Instant(-1, 500000000), "1969-12-31T23:59:59.500Z"),
        (T.INSTANT(), Instant(5, 120000000), "1970-01-01T00:00:05.120Z"),
        (T.INSTANT(), Instant(5, 123450000), "1970-01-01T00:00:05.123450Z"),
        (T.SQL_TIMESTAMP(), datetime.datetime(2018, 3, 11, 3, 0, 0, 120000), "2018-03-11 03:00:00.12"),
        (T.SQL_TIMESTAMP(), datetime.datetime(2018, 3, 11, 3, 0), "2018-03-11 03:00:00.0"),
        (T.SQL_TIME(), datetime.time(12, 3, 4, 123456), "12:03:04"),
        (T.BIG_DEC(), Decimal("0E-7"), "0E-7"),
        (T.BIG_DEC(), Decimal("0.0000001"), "1E-7"),
        (T.BIG_DEC(), Decimal("-1.5E-3"), "-0.0015"),
        (T.BIG_DEC(), Decimal("1E+3"), "1E+3"),
        (LocalTimeTypeInfo(LocalKind.LOCAL_TIME), datetime.time(1, 0), "01:00"),
        (LocalTimeTypeInfo(LocalKind.LOCAL_TIME), datetime.time(1, 0, 5, 120000), "01:00:05.120"),
        (LocalTimeTypeInfo(LocalKind.LOCAL_DATE), DAY, "2018-03-11"),
        (LocalTimeTypeInfo(LocalKind.LOCAL_DATE_TIME), datetime.datetime(2018, 3, 11, 3, 0), "2018-03-11T03:00"),
        (ExternalTypeInfo(T.ROW([T.BOOLEAN()])), Row(True), "+I[true]"),
    ],
    ids=repr,
)
def test_typed_text(type_info: TypeInformation, value: Any, text: str) -> None:
    assert to_text(value, type_info) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        ("a", "a"),
        ((1, "x"), "(1, 'x')"),
        (Row(a=1, b="x"), "Row(a=1, b='x')"),
        (Row(1, 2), "<Row(1, 2)>"),
        (1e10, "10000000000.0"),
        ([1, 2], "[1, 2]"),
        ({"a": 1}, "{'a': 1}"),
        (True, "True"),
        (Decimal("1.5"), "1.5"),
        (datetime.datetime(2018, 3, 11, 3, 0), "2018-03-11 03:00:00"),
        (None, "None"),
    ],
)
def test_untyped_values_print_as_python_writes_them(value: Any, text: str) -> None:
    assert to_text(value) == to_text(value, T.PICKLED_BYTE_ARRAY()) == print_writer(None)(value) == text


@pytest.mark.parametrize(
    ("row_type", "row", "text"),
    [
        (T.ROW([T.STRING(), T.INT()]), Row("a", None), "+I[a,None]"),
        (T.ROW([T.STRING(), T.INT()]), Row.of_kind(RowKind.DELETE, "d", 4), "-D[d,4]"),
        (T.ROW([T.STRING(), T.ROW([T.INT()])]), Row("a", Row(f0="b", f1=2)), "+I[a,Row(f0='b', f1=2)]"),
        (ExternalTypeInfo(T.ROW([T.BOOLEAN()])), Row(True), "+I[True]"),
    ],
)
def test_print_shows_the_fields_of_a_row_as_python_writes_them(row_type: TypeInformation, row: Row, text: str) -> None:
    assert print_writer(row_type)(row) == text


def test_print_shows_other_typed_values_as_java_writes_them() -> None:
    assert print_writer(T.TUPLE([T.STRING(), T.BOOLEAN()]))(("a", None)) == "(a,null)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (1e10, "1.0E10"),
        (1e-5, "1.0E-5"),
        (100.0, "100.0"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (-0.0, "-0.0"),
        (123456789.123, "1.23456789123E8"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e23, "1.0E23"),  # Java 19 and later; earlier ones write 9.999999999999999E22
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert to_text(value, T.DOUBLE()) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (3e38, "3.0E38"),
        (1.0, "1.0"),
        (1e10, "1.0E10"),
        (4.33333333333, "4.3333335"),
        (1e39, "Infinity"),
        (1e-5, "1.0E-5"),
        (123456.789, "123456.79"),
        (1.4e-45, "1.4E-45"),
        (9999999.0, "9999999.0"),
        (2.5e10, "2.5E10"),  # Java 19 and later; earlier ones write 2.49999995E10
    ],
)
def test_floats(value: float, text: str) -> None:
    assert to_text(value, T.FLOAT()) == text


@given(st.floats(allow_nan=False))
def test_the_text_of_a_double_reads_back(value: float) -> None:
    assert float(text_writer(T.DOUBLE())(value)) == value


@given(st.floats(width=32, allow_nan=False))
def test_the_text_of_a_float_reads_back(value: float) -> None:
    assert round_to_float32(float(float_text(value))) == value


@pytest.mark.parametrize(
    ("type_info", "value", "collected"),
    [
        (T.FLOAT(), round_to_float32(1.1), 1.1),
        (T.PRIMITIVE_ARRAY(T.BYTE()), b"ab\xff", [97, 98, -1]),
        (T.SQL_TIME(), datetime.time(12, 3, 4, 123000), datetime.time(12, 3, 4)),
        (T.PRIMITIVE_ARRAY(T.FLOAT()), [round_to_float32(1.1)], [1.1]),
        (T.ROW([T.STRING(), T.FLOAT()]), Row(f0="a", f1=round_to_float32(1.1)), Row(f0="a", f1=1.1)),
        (T.TUPLE([T.SHORT(), T.FLOAT()]), (1, round_to_float32(1.1)), (1, 1.1)),
        (T.MAP(T.STRING(), T.FLOAT()), {"a": round_to_float32(1.1)}, {"a": 1.1}),
    ],
    ids=repr,
)
def test_collected_values(type_info: TypeInformation, value: Any, collected: Any) -> None:
    convert = collector(type_info)
    assert convert is not None and convert(value) == collected and convert(None) is None


def test_most_values_are_collected_as_they_are() -> None:
    for type_info in (None, T.STRING(), T.TUPLE([T.INT()]), T.LIST(T.DOUBLE()), T.MAP(T.STRING(), T.INT())):
        assert collector(type_info) is None


@pytest.mark.parametrize("value", [b"ab\xff", bytearray(b"ab\xff")])
def test_bytes_in_an_untyped_field_are_shown_as_flink_shows_an_array(value: Any) -> None:
    pickled = T.PICKLED_BYTE_ARRAY()
    assert to_text(Row("a", value), T.ROW([T.STRING(), pickled])) == "+I[a, [97, 98, -1]]"
    assert to_text(("a", value), T.TUPLE([T.STRING(), pickled])) == "(a,[97, 98, -1])"
    assert to_text([value], T.LIST(pickled)) == "[[97, 98, -1]]"


def test_other_values_in_an_untyped_field_are_shown_as_python_writes_them() -> None:
    row_type = T.ROW([T.PICKLED_BYTE_ARRAY(), T.PICKLED_BYTE_ARRAY()])
    assert to_text(Row({"k": 1}, None), row_type) == "+I[{'k': 1}, null]"


@given(st.floats(allow_nan=False) | st.floats(-1e8, 1e8, allow_nan=False))
def test_the_short_way_writes_the_same_number(value: float) -> None:
    assert double_text(value) == _java_form(value, repr(value))
