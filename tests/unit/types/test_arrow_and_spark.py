"""Types and values on their way into Arrow and Spark, and back."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.errors import TypeMismatchError
from funke.engine.types import Instant, LocalTimeTypeInfo, Row, TypeInformation, Types
from funke.engine.types.information.arrow_types import from_arrow, to_arrow
from funke.engine.types.information.arrow_values import from_arrow_value, to_arrow_value
from funke.engine.types.information.spark_types import from_spark_ddl, from_spark_json, to_spark_ddl, to_spark_schema

T = Types
PERSON = T.ROW_NAMED(["name", "age"], [T.STRING(), T.INT()])

CASES = [
    (T.STRING(), "string", "ü"),
    (T.BYTE(), "tinyint", -5),
    (T.SHORT(), "smallint", 300),
    (T.INT(), "int", 70000),
    (T.LONG(), "bigint", 2**40),
    (T.BOOLEAN(), "boolean", True),
    (T.FLOAT(), "float", 1.5),
    (T.DOUBLE(), "double", 0.1),
    (T.BIG_INT(), "decimal(38,0)", 10**30),
    (T.BIG_DEC(), "decimal(38,18)", Decimal("1.5")),
    (T.INSTANT(), "timestamp", Instant(-5, 123456000)),
    (T.SQL_DATE(), "date", datetime.date(2018, 3, 11)),
    (T.SQL_TIME(), "time(3)", datetime.time(12, 3, 4, 5000)),
    (T.SQL_TIMESTAMP(), "timestamp_ntz", datetime.datetime(2018, 3, 11, 3, 0, 0, 123000)),
    (T.PRIMITIVE_ARRAY(T.BYTE()), "binary", b"a\xff"),
    (T.BASIC_ARRAY(T.INT()), "array<int>", [1, None]),
    (T.OBJECT_ARRAY(PERSON), "array<struct<name: string, age: int>>", [Row(name="a", age=1), None]),
    (T.MAP(T.STRING(), T.DOUBLE()), "map<string, double>", {"a": 1.5, "b": None}),
    (PERSON, "struct<name: string, age: int>", Row(name="a", age=None)),
]


@pytest.mark.parametrize(("type_info", "ddl", "value"), CASES, ids=str)
def test_there_and_back(type_info: TypeInformation, ddl: str, value: Any) -> None:
    assert to_spark_ddl(type_info) == ddl
    assert repr(from_spark_ddl(ddl)) == repr(type_info)
    assert [value, None] == through_arrow(type_info, [value, None])


def through_arrow(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    enter, leave = to_arrow_value(type_info), from_arrow_value(type_info)
    array = pa.array([enter(value) if enter else value for value in values], to_arrow(type_info))
    return [leave(value) if leave else value for value in array.to_pylist()]


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (T.TUPLE([T.STRING(), T.TUPLE([T.INSTANT(), PERSON])]), ("a", (Instant(1, 0), Row(name="b", age=2)))),
        (T.PICKLED_BYTE_ARRAY(), {"any": {1, 2}}),
        (T.MAP(T.INT(), T.LIST(T.INSTANT())), {1: [Instant(1, 0)]}),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), datetime.time(1, 2, 3, 4)),
    ],
    ids=repr,
)
def test_values_of_nested_types_survive_arrow(type_info: TypeInformation, value: Any) -> None:
    assert through_arrow(type_info, [value]) == [value]


def test_arrow_types_of_files_are_understood() -> None:
    schema = pa.struct([("u", pa.uint32()), ("d", pa.dictionary(pa.int8(), pa.string())), ("l", pa.large_string())])
    assert repr(from_arrow(schema)) == "RowTypeInfo(u: Long, d: String, l: String)"
    assert from_arrow(pa.list_(pa.decimal128(10, 2))) == T.OBJECT_ARRAY(T.BIG_DEC())
    assert from_arrow(pa.timestamp("ns", "UTC")) == T.INSTANT() and from_arrow(pa.timestamp("s")) == T.SQL_TIMESTAMP()
    with pytest.raises(TypeMismatchError, match="duration"):
        from_arrow(pa.duration("s"))


def test_schemas() -> None:
    assert to_spark_schema(PERSON) == "name string, age int"
    assert to_spark_schema(T.INT()) == "value int"
    odd = T.ROW_NAMED(["a b", "c`d"], [T.INT(), T.MAP(T.STRING(), PERSON)])
    assert to_spark_schema(odd) == "`a b` int, `c``d` map<string, struct<name: string, age: int>>"
    assert repr(from_spark_ddl(to_spark_schema(odd))) == repr(odd)
    assert from_spark_ddl("a INT NOT NULL, b DECIMAL(10,2)") == T.ROW([T.INT(), T.BIG_DEC()])


def test_spark_json() -> None:
    fields = [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "b", "type": {"type": "array", "elementType": "string", "containsNull": True}},
        {"name": "c", "type": {"type": "map", "keyType": "string", "valueType": "decimal(10,2)"}},
    ]
    expected = "RowTypeInfo(a: Integer, b: BasicArrayTypeInfo<String>, c: MapTypeInfo<String, BigDecimal>)"
    assert repr(from_spark_json({"type": "struct", "fields": fields})) == expected


@pytest.mark.parametrize("ddl", ["array<int", "struct<a int", "interval", "int>", "a b c", "$"])
def test_what_cannot_be_read_is_an_error(ddl: str) -> None:
    with pytest.raises(TypeMismatchError):
        from_spark_ddl(ddl)
