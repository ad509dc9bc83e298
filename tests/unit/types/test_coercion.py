"""What typed edges make of Python values. The pairs in REFERENCE were produced by PyFlink 2.3."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.errors import TypeMismatchError
from funke.engine.types import ExternalTypeInfo, Instant, Row, RowKind, TypeInformation, Types
from funke.engine.types.information.collection_input import collection_type

T = Types
PAIR = T.ROW_NAMED(["a", "b"], [T.STRING(), T.INT()])


class Person:
    def __init__(self) -> None:
        self.a, self.b = "x", 1

    def __repr__(self) -> str:
        return "Person"


REFERENCE = [
    (T.TUPLE([T.INT(), T.INT()]), (1, 2, 3), (1, 2)),
    (T.TUPLE([T.INT(), T.TUPLE([T.INT(), T.INT()])]), (1, (1, 2, 3)), (1, (1, 2))),
    (T.ROW([T.INT(), T.INT()]), Row(1, 2, 3), Row(f0=1, f1=2)),
    (T.ROW_NAMED(["a", "b"], [T.INT(), T.INT()]), Row(a=1, b=2, c=3), Row(a=1, b=2)),
    (T.SHORT(), 43878, -21658),
    (T.SHORT(), 70000, 4464),
    (T.BYTE(), 200, -56),
    (T.BYTE(), -129, 127),
    (T.INT(), 2**31, -(2**31)),
    (T.INT(), -(2**31) - 1, 2**31 - 1),
    (T.INT(), 1.7, 1),
    (T.INT(), True, 1),
    (T.LONG(), 1.5, 1),
    (T.FLOAT(), 1, 1.0),
    (T.DOUBLE(), 1, 1.0),
    (T.BOOLEAN(), 1, True),
    (T.BOOLEAN(), 0, False),
    (T.BIG_DEC(), 5, Decimal("5")),
    (T.BIG_DEC(), 1.5, Decimal("1.5")),
    (T.SQL_DATE(), datetime.date(2018, 3, 11), datetime.date(2018, 3, 11)),
    (PAIR, ("a", 1), Row(a="a", b=1)),
    (PAIR, ["a", 1], Row(a="a", b=1)),
    (PAIR, Row("c", 3), Row(a="c", b=3)),
    (PAIR, Row(b=7, a="z"), Row(a="z", b=7)),
    (PAIR, {"a": "q"}, Row(a="q", b=None)),
    (PAIR, Person(), Row(a="x", b=1)),
    (PAIR, (None, None), Row(a=None, b=None)),
    (T.ROW([T.STRING(), T.INT()]), Row(f1=5, f0="e"), Row(f0="e", f1=5)),
    (T.ROW([T.STRING(), PAIR]), ("a", ("b", 2)), Row(f0="a", f1=Row(a="b", b=2))),
    (T.TUPLE([T.STRING(), T.INT()]), ["b", 2], ("b", 2)),
    (T.TUPLE([T.STRING(), T.INT()]), Row("c", 3), ("c", 3)),
    (T.TUPLE([T.STRING(), T.TUPLE([T.SHORT(), T.FLOAT()])]), ("a", (43878, 2.5)), ("a", (-21658, 2.5))),
    (T.PRIMITIVE_ARRAY(T.SHORT()), [1, 43878], [1, -21658]),
    (T.BASIC_ARRAY(T.INT()), (1, None, 2), [1, None, 2]),
    (T.LIST(T.INT()), [1, 2], [1, 2]),
]
# PyFlink cannot collect these, or rejects them; the rule is the same.
FURTHER = [
    (
        T.SQL_TIMESTAMP(),
        datetime.datetime(2018, 3, 11, 3, 0, 0, 123456),
        datetime.datetime(2018, 3, 11, 3, 0, 0, 123000),
    ),
    (T.PRIMITIVE_ARRAY(T.BYTE()), b"ab\xff", b"ab\xff"),
    (T.OBJECT_ARRAY(PAIR), [("a", 1)], [Row(a="a", b=1)]),
    (T.MAP(T.STRING(), T.INT()), {"a": 2**31, "b": None}, {"a": -(2**31), "b": None}),
    # Milliseconds, as functions see it; PyFlink keeps more only in a stream that passes no function.
    (T.INSTANT(), Instant(5, 123456789), Instant(5, 123000000)),
]


def coerce(type_info: TypeInformation, value: Any) -> Any:
    function = type_info.coercer()
    return value if function is None else function(value)


@pytest.mark.parametrize(("type_info", "value", "expected"), REFERENCE + FURTHER, ids=repr)
def test_pairs(type_info: TypeInformation, value: Any, expected: Any) -> None:
    result = coerce(type_info, value)
    assert (type(result), repr(result)) == (type(expected), repr(expected))
    assert list(map(repr, type_info.coerce_list([value, value]))) == [repr(expected)] * 2
    assert coerce(type_info, result) == result  # what fits stays as it is


@pytest.mark.parametrize("type_info", [type_info for type_info, _, _ in REFERENCE + FURTHER], ids=str)
def test_none_stays_none(type_info: TypeInformation) -> None:
    assert coerce(type_info, None) is None
    assert type_info.coerce_list([None]) == [None]
    assert type_info.coerce_list([]) == []


@pytest.mark.parametrize(
    ("type_info", "value", "message"),
    [
        (T.INT(), "a", r"type Integer needs an int, got str: 'a'"),
        (T.LONG(), math.nan, r"type Long needs an int"),
        (T.STRING(), 1, r"type String needs a str, got int: 1"),
        (T.DOUBLE(), "1", r"type Double needs a float"),
        (T.BOOLEAN(), "true", r"type Boolean needs a bool"),
        (T.CHAR(), "abc", r"a str of one character"),
        (T.BIG_DEC(), "x", r"needs a Decimal"),
        (T.SQL_DATE(), "2018-03-11", r"needs a datetime.date"),
        (T.SQL_TIMESTAMP(), datetime.date(2018, 3, 11), r"needs a datetime.datetime"),
        (PAIR, 5, r"needs a Row, tuple, list or dict, got int: 5"),
        (PAIR, ("a",), r"needs 2 fields, got 1: \('a',\)"),
        (PAIR, ("a", "b"), r"field 1 of \('a', 'b'\): type Integer needs an int, got str: 'b'"),
        (PAIR, Row(a="a", c=1), r"needs the fields b, which Row\(a='a', c=1\) does not have"),
        (T.TUPLE([T.INT()]), 5, r"needs a tuple, got int"),
        (T.BASIC_ARRAY(T.INT()), 5, r"needs a list"),
        (T.PRIMITIVE_ARRAY(T.BYTE()), "ab", r"needs bytes"),
        (T.MAP(T.STRING(), T.INT()), [1], r"needs a dict"),
        (T.INSTANT(), 5, r"needs an Instant"),
    ],
    ids=repr,
)
def test_wrong_types_are_named(type_info: TypeInformation, value: Any, message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        coerce(type_info, value)
    with pytest.raises(TypeError, match=message):
        type_info.coerce_list([value])


@pytest.mark.parametrize(("type_info", "bits"), [(T.BYTE(), 8), (T.SHORT(), 16), (T.INT(), 32), (T.LONG(), 64)])
@given(value=st.integers(-(2**70), 2**70))
def test_integers_wrap_as_in_java(type_info: TypeInformation, bits: int, value: int) -> None:
    wrapped = int.from_bytes((value % 2**bits).to_bytes(bits // 8, "little"), "little", signed=True)
    assert coerce(type_info, value) == wrapped
    assert coerce(T.TUPLE([type_info]), (value,)) == (wrapped,)
    assert type_info.coerce_list([value]) == [wrapped]


@given(st.floats(width=64, allow_nan=False, min_value=-3e38, max_value=3e38))
def test_floats_are_rounded_to_32_bits(value: float) -> None:
    assert coerce(T.FLOAT(), value) == struct.unpack("f", struct.pack("f", value))[0]


def test_a_float_beyond_32_bits_is_infinite() -> None:
    assert coerce(T.FLOAT(), 1e39) == math.inf and math.isnan(coerce(T.FLOAT(), math.nan))


def test_times_keep_milliseconds_and_lose_their_zone() -> None:
    value = datetime.time(12, 3, 4, 123456, datetime.UTC)
    assert coerce(T.SQL_TIME(), value) == datetime.time(12, 3, 4, 123000)


def test_row_kind_is_kept() -> None:
    row = Row.of_kind(RowKind.UPDATE_AFTER, "a", 2**31)
    assert coerce(PAIR, row).get_row_kind() is RowKind.UPDATE_AFTER


def test_numpy_values_become_python_values() -> None:
    assert type(coerce(T.INT(), numpy.int64(5))) is int
    assert type(coerce(T.DOUBLE(), numpy.float32(1.5))) is float
    assert coerce(T.BOOLEAN(), numpy.bool_(True)) is True
    assert coerce(T.LIST(T.INT()), numpy.array([1, 2])) == [1, 2]
    assert type(coerce(T.STRING(), numpy.str_("a"))) is str


def test_fitting_lists_are_not_copied() -> None:
    for type_info, values in [(T.INT(), [1, 2]), (T.STRING(), ["a"]), (T.TUPLE([T.STRING()]), [("a",), ("b",)])]:
        assert type_info.coerce_list(values) is values


def test_untyped_values_pass() -> None:
    assert T.PICKLED_BYTE_ARRAY().coercer() is None
    values = [object()]
    assert T.PICKLED_BYTE_ARRAY().coerce_list(values) is values
    assert coerce(ExternalTypeInfo(T.INT()), 2**31) == -(2**31)
    assert coerce(T.ROW([]), ()) == coerce(T.ROW([]), Row())


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (T.STRING(), 1, "1"),
        (T.STRING(), "a", "a"),
        (T.STRING(), 1.5e10, "1.5E10"),
        (T.ROW([T.STRING()]), (True,), Row(f0="true")),
        (T.TUPLE([T.STRING()]), (1,), ("1",)),
        (T.BASIC_ARRAY(T.STRING()), [1, 2], ["1", "2"]),
        (T.MAP(T.STRING(), T.STRING()), {"a": 1}, {"a": "1"}),
        (T.INT(), 5, 5),
    ],
    ids=repr,
)
def test_collections_take_numbers_as_text(type_info: TypeInformation, value: Any, expected: Any) -> None:
    assert collection_type(type_info).coerce_list([value]) == [expected]
    assert collection_type(type_info) == type_info


@pytest.mark.parametrize("type_info", [T.TUPLE([T.INT(), T.INT()]), T.ROW([T.INT(), T.INT()])], ids=repr)
def test_collections_reject_fields_too_many(type_info: TypeInformation) -> None:
    with pytest.raises(TypeMismatchError, match="needs 2 fields, got 3"):
        collection_type(type_info).coerce_list([(1, 2, 3)])
