"""Texts, equality and pickling of types; the texts were produced by PyFlink 2.3."""

from __future__ import annotations

import datetime
import pickle

import pytest

from funke.engine.types import (
    ExternalTypeInfo,
    Instant,
    LocalTimeTypeInfo,
    Row,
    RowKind,
    RowTypeInfo,
    TypeInformation,
    Types,
)

ALL_TYPES = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.ROW([Types.STRING(), Types.INT()]), "RowTypeInfo(String, Integer)"),
    (Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.DOUBLE()]), "RowTypeInfo(a: String, b: Double)"),
    (Types.TUPLE([Types.STRING(), Types.INT()]), "TupleTypeInfo(String, Integer)"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.INT()), "BasicArrayTypeInfo<Integer>"),
    (Types.OBJECT_ARRAY(Types.STRING()), "ObjectArrayTypeInfo<String>"),
    (Types.MAP(Types.STRING(), Types.INT()), "MapTypeInfo<String, Integer>"),
    (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), "LocalTimeTypeInfo<LOCAL_DATE>"),
    (ExternalTypeInfo(Types.INT()), "ExternalTypeInfo<Integer>"),
]


@pytest.mark.parametrize(("type_info", "text"), ALL_TYPES, ids=str)
def test_text(type_info: TypeInformation, text: str) -> None:
    assert repr(type_info) == str(type_info) == text


@pytest.mark.parametrize("type_info", [type_info for type_info, _ in ALL_TYPES], ids=str)
def test_pickled_types_are_equal_also_when_their_coercer_was_built(type_info: TypeInformation) -> None:
    type_info.coercer()
    restored = pickle.loads(pickle.dumps(type_info))
    assert restored == type_info and hash(restored) == hash(type_info)
    assert (restored.coercer() is None) == (type_info.coercer() is None)


def test_each_type_equals_only_itself() -> None:
    types = [type_info for type_info, _ in ALL_TYPES]
    assert all((left == right) == (i == j) for i, left in enumerate(types) for j, right in enumerate(types))


def test_row_types_are_equal_by_field_types() -> None:
    named = Types.ROW_NAMED(["a"], [Types.INT()])
    assert named == Types.ROW([Types.INT()]) and hash(named) == hash(Types.ROW([Types.INT()]))
    assert named.get_field_names() == ["a"] and named.get_field_index("a") == 0
    assert RowTypeInfo([Types.INT(), Types.INT()]).get_field_names() == ["f0", "f1"]
    assert RowTypeInfo([Types.INT()]).get_field_index("f0") == -1


def test_internal_forms() -> None:
    row_type = Types.ROW_NAMED(["d", "n"], [Types.SQL_DATE(), Types.INT()])
    day = datetime.date(1970, 1, 3)
    assert row_type.to_internal_type((day, 5)) == (0, 2, 5)
    assert row_type.to_internal_type(Row.of_kind(RowKind.DELETE, n=5, d=day)) == (3, 2, 5)
    assert row_type.to_internal_type({"n": 5}) == (0, None, 5)
    assert Types.TUPLE([Types.SQL_DATE()]).to_internal_type([day]) == (2,)
    assert Types.SQL_DATE().from_internal_type(2) == day
    assert Types.INSTANT().to_internal_type(Instant(5, 123_456_789)) == 5_123_000
    assert Types.INSTANT().from_internal_type(5_123_000) == Instant(5, 123_000_000)
    timestamp = datetime.datetime(2018, 3, 11, 3, 0, 0, 123456)
    assert Types.SQL_TIMESTAMP().from_internal_type(Types.SQL_TIMESTAMP().to_internal_type(timestamp)) == timestamp
    time = datetime.time(12, 3, 4, 5)
    assert Types.SQL_TIME().from_internal_type(Types.SQL_TIME().to_internal_type(time)) == time
    with pytest.raises(ValueError):
        row_type.to_internal_type(5)
    with pytest.raises(ValueError):
        Types.TUPLE([Types.INT()]).to_internal_type(5)
