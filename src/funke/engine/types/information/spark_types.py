"""Names of Spark's types for type information and back, without importing Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from funke.engine.types.information.arrow_types import field_names
from funke.engine.types.information.collection_types import is_byte_array
from funke.engine.types.information.time_types import ZonedTimestampTypeInfo

__all__ = ["from_spark_ddl", "from_spark_json", "to_spark_ddl", "to_spark_schema"]

_BASIC_TO_SPARK = {
    BasicType.STRING: "string",
    BasicType.CHAR: "string",
    BasicType.BYTE: "tinyint",
    BasicType.SHORT: "smallint",
    BasicType.INT: "int",
    BasicType.LONG: "bigint",
    BasicType.BOOLEAN: "boolean",
    BasicType.FLOAT: "float",
    BasicType.DOUBLE: "double",
    # As Spark maps Java's BigInteger and BigDecimal.
    BasicType.BIG_INT: "decimal(38,0)",
    BasicType.BIG_DEC: "decimal(38,18)",
    BasicType.INSTANT: "timestamp",
}
_LOCAL_TO_SPARK = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: "date",
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: "time(6)",
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: "timestamp_ntz",
}
_FROM_SPARK = {
    "string": Types.STRING,
    "tinyint": Types.BYTE,
    "byte": Types.BYTE,
    "smallint": Types.SHORT,
    "short": Types.SHORT,
    "int": Types.INT,
    "integer": Types.INT,
    "bigint": Types.LONG,
    "long": Types.LONG,
    "boolean": Types.BOOLEAN,
    "float": Types.FLOAT,
    "real": Types.FLOAT,
    "double": Types.DOUBLE,
    "binary": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "timestamp": Types.INSTANT,
    "timestamp_ltz": Types.INSTANT,
    "timestamp_ntz": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
    "varchar": Types.STRING,
    "char": Types.STRING,
    "void": Types.STRING,
}


def to_spark_ddl(type_info: TypeInformation) -> str:
    """Return the name of Spark's type: ``array<int>``, ``struct<name: string, age: int>``."""
    if isinstance(type_info, ExternalTypeInfo):
        return to_spark_ddl(type_info._type_info)
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC_TO_SPARK[type_info.basic_type]
    if isinstance(type_info, LocalTimeTypeInfo):
        return _LOCAL_TO_SPARK[type_info.time_type]
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return f"struct<{', '.join(f'{name}: {ddl}' for name, ddl in _columns(type_info))}>"
    if isinstance(type_info, MapTypeInfo):
        return f"map<{to_spark_ddl(type_info.key_type)}, {to_spark_ddl(type_info.value_type)}>"
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)):
        return "binary" if is_byte_array(type_info) else f"array<{to_spark_ddl(type_info.element_type)}>"
    for kind, name in _SIMPLE_TO_SPARK.items():
        if isinstance(type_info, kind):
            return name
    raise TypeMismatchError(f"type {type_info} has no Spark type")


_SIMPLE_TO_SPARK: dict[type[TypeInformation], str] = {
    DateTypeInfo: "date",
    TimeTypeInfo: "time(3)",
    TimestampTypeInfo: "timestamp_ntz",
    ZonedTimestampTypeInfo: "timestamp",
    PickledBytesTypeInfo: "binary",
}


def to_spark_schema(type_info: TypeInformation) -> str:
    """Return the columns of a table of such values: a row's fields, or one column ``value``."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return ", ".join(f"{name} {ddl}" for name, ddl in _columns(type_info))
    return f"value {to_spark_ddl(type_info)}"


def _columns(type_info: RowTypeInfo | TupleTypeInfo) -> Iterator[tuple[str, str]]:
    for name, field_type in zip(field_names(type_info), type_info.get_field_types(), strict=True):
        quoted = name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"`{name.replace('`', '``')}`"
        yield quoted, to_spark_ddl(field_type)


def from_spark_ddl(ddl: str) -> TypeInformation:
    """Return the type information for a type name, or a row for a list of columns ``a int, b string``."""
    parser = _Parser(ddl)
    type_info = parser.type_or_columns()
    parser.expect_end()
    return type_info


class _Parser:
    """Reads a Spark type name from left to right."""

    _TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|\w+|[<>,:()])")

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens = self._split(ddl)
        self._next = 0

    def _split(self, ddl: str) -> list[str]:
        tokens, position, end = [], 0, len(ddl.rstrip())
        while position < end:
            match = self._TOKEN.match(ddl, position)
            if match is None:
                raise TypeMismatchError(f"cannot read Spark type {ddl!r} at {ddl[position:]!r}")
            tokens.append(match.group(1))
            position = match.end()
        return tokens

    def type_or_columns(self) -> TypeInformation:
        if len(self._tokens) > 1 and self._tokens[1] not in ("<", "("):
            return self._fields(end=None)
        return self._type()

    def expect_end(self) -> None:
        if self._next != len(self._tokens):
            raise TypeMismatchError(f"cannot read Spark type {self._ddl!r} at {self._tokens[self._next]!r}")

    def _peek(self) -> str | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, expected: str | None = None) -> str:
        token = self._peek()
        if token is None or (expected is not None and token != expected):
            raise TypeMismatchError(f"cannot read Spark type {self._ddl!r}: expected {expected or 'more'}, got {token}")
        self._next += 1
        return token

    def _type(self) -> TypeInformation:
        name = self._take().lower()
        if name == "array":
            return _array_of(self._bracketed(1)[0])
        if name == "map":
            return Types.MAP(*self._bracketed(2))
        if name == "struct":
            self._take("<")
            return self._fields(end=">")
        arguments = self._arguments()
        if name not in _FROM_SPARK:
            raise TypeMismatchError(f"Spark type {name!r} has no type information")
        if name == "decimal" and arguments[1:] in ([], ["0"]) and arguments[:1] == ["38"]:
            return Types.BIG_INT()
        return _FROM_SPARK[name]()

    def _bracketed(self, count: int) -> list[TypeInformation]:
        self._take("<")
        types = [self._type()]
        for _ in range(count - 1):
            self._take(",")
            types.append(self._type())
        self._take(">")
        return types

    def _arguments(self) -> list[str]:
        arguments: list[str] = []
        if self._peek() == "(":
            while self._take() != ")":
                arguments.append(self._take())
        return arguments

    def _fields(self, end: str | None) -> TypeInformation:
        names, types = [], []
        while self._peek() != end:
            name = self._take()
            names.append(name[1:-1].replace("``", "`") if name.startswith("`") else name)
            if self._peek() == ":":
                self._take()
            types.append(self._type())
            self._skip_constraint()
            if self._peek() == ",":
                self._take()
        if end is not None:
            self._take(end)
        return Types.ROW_NAMED(names, types)

    def _skip_constraint(self) -> None:
        if (self._peek() or "").lower() == "not":
            self._take()
            self._take()


def _array_of(element_type: TypeInformation) -> TypeInformation:
    is_basic = isinstance(element_type, BasicTypeInfo)
    return Types.BASIC_ARRAY(element_type) if is_basic else Types.OBJECT_ARRAY(element_type)


def from_spark_json(schema: Any) -> TypeInformation:
    """Return the type information for Spark's JSON form of a type (the parsed ``DataType.json()``)."""
    if isinstance(schema, str):
        return from_spark_ddl(schema)
    kind = schema["type"]
    if kind == "struct":
        fields = schema["fields"]
        return Types.ROW_NAMED([f["name"] for f in fields], [from_spark_json(f["type"]) for f in fields])
    if kind == "array":
        return _array_of(from_spark_json(schema["elementType"]))
    if kind == "map":
        return Types.MAP(from_spark_json(schema["keyType"]), from_spark_json(schema["valueType"]))
    raise TypeMismatchError(f"Spark type {kind!r} has no type information")
