"""Data types as SQL writes them, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from funke.engine.errors import ConfigurationError
from funke.engine.types.logical.atomic_types import (
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
)
from funke.engine.types.logical.collection_types import ArrayType, MapType, MultisetType
from funke.engine.types.logical.data_type import DataType, NullType, RawType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.families import LONGEST
from funke.engine.types.logical.interval_types import (
    DayTimeIntervalType,
    Resolution,
    YearMonthIntervalType,
    from_resolutions,
)
from funke.engine.types.logical.row_type import RowField, RowType, StructuredType, repeated_names
from funke.engine.types.logical.time_types import (
    DateType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    ZonedTimestampType,
)

__all__ = ["from_sql_text", "quoted", "to_full_sql_text", "to_sql_text"]

_PLAIN: dict[type[DataType], str] = {
    BooleanType: "BOOLEAN",
    TinyIntType: "TINYINT",
    SmallIntType: "SMALLINT",
    IntType: "INT",
    BigIntType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    DateType: "DATE",
    VariantType: "VARIANT",
    BitmapType: "BITMAP",
}
_SIZED: dict[type[DataType], str] = {
    CharType: "CHAR",
    VarCharType: "VARCHAR",
    BinaryType: "BINARY",
    VarBinaryType: "VARBINARY",
}
_UNBOUNDED: dict[type[DataType], str] = {VarCharType: "STRING", VarBinaryType: "BYTES"}
# What PyFlink writes into a field that has no description.
_NO_DESCRIPTION = "..."


def to_sql_text(data_type: DataType) -> str:
    """Return the type as DESCRIBE and messages show it.

    >>> to_sql_text(DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING(False))]))
    'ROW<`a` STRING NOT NULL>'
    """
    return _to_text(data_type, True)


def to_full_sql_text(data_type: DataType) -> str:
    """Return the type without short names, as plans and catalogs keep it.

    >>> to_full_sql_text(DataTypes.STRING()), to_full_sql_text(DataTypes.TIMESTAMP_LTZ(3))
    ('VARCHAR(2147483647)', 'TIMESTAMP(3) WITH LOCAL TIME ZONE')
    """
    return _to_text(data_type, False)


def from_sql_text(text: str) -> DataType:
    """Return the type of a text.

    >>> from_sql_text("DECIMAL(10, 2) NOT NULL")
    DecimalType(10, 2, false)
    """
    parser = _Parser(text)
    try:
        data_type = parser.parse_type()
    except AssertionError as error:  # of a type's own limits
        raise parser.problem(str(error)) from None
    parser.expect_end()
    return data_type


def quoted(name: str) -> str:
    """Return a name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def _to_text(data_type: DataType, is_short: bool) -> str:
    text = _to_bare_text(data_type, is_short)
    return text if data_type._nullable or isinstance(data_type, NullType) else f"{text} NOT NULL"


def _to_bare_text(data_type: Any, is_short: bool) -> str:
    kind: Any = type(data_type)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _SIZED:
        is_unbounded = is_short and kind in _UNBOUNDED and data_type.length == LONGEST
        return _UNBOUNDED[kind] if is_unbounded else f"{_SIZED[kind]}({data_type.length})"
    if isinstance(data_type, (ArrayType, MultisetType)):
        return f"{data_type.type_name()}<{_to_text(data_type.element_type, is_short)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{_to_text(data_type.key_type, is_short)}, {_to_text(data_type.value_type, is_short)}>"
    if isinstance(data_type, StructuredType):
        name = "'" + data_type.class_name.replace("'", "''") + "'"
        # A field's description is not part of the type, as in Flink.
        fields = (f"{quoted(each.name)} {_to_text(each.data_type, is_short)}" for each in data_type)
        return f"STRUCTURED<{', '.join([name, *fields])}>"
    if isinstance(data_type, RowType):
        return f"ROW<{', '.join(_field_text(each, is_short) for each in data_type)}>"
    return _number_or_time_text(data_type, is_short)


def _number_or_time_text(data_type: Any, is_short: bool) -> str:
    if isinstance(data_type, DecimalType):
        return f"DECIMAL({data_type.precision}, {data_type.scale})"
    if isinstance(data_type, TimeType):
        return f"TIME({data_type.precision})"
    if isinstance(data_type, TimestampType):
        return f"TIMESTAMP({data_type.precision})"
    if isinstance(data_type, ZonedTimestampType):
        return f"TIMESTAMP({data_type.precision}) WITH TIME ZONE"
    if isinstance(data_type, LocalZonedTimestampType):
        short, full = f"TIMESTAMP_LTZ({data_type.precision})", f"TIMESTAMP({data_type.precision}) WITH LOCAL TIME ZONE"
        return short if is_short else full
    if isinstance(data_type, YearMonthIntervalType):
        return _months_text(data_type)
    if isinstance(data_type, DayTimeIntervalType):
        return _days_text(data_type)
    if isinstance(data_type, NullType):
        return "NULL"
    if isinstance(data_type, RawType):
        return "RAW"
    return str(data_type)


def _field_text(field: RowField, is_short: bool) -> str:
    text = f"{quoted(field.name)} {_to_text(field.data_type, is_short)}"
    if field.description == _NO_DESCRIPTION:
        return text
    return text + " '" + field.description.replace("'", "''") + "'"


def _months_text(data_type: YearMonthIntervalType) -> str:
    resolutions = YearMonthIntervalType.YearMonthResolution
    return {
        resolutions.YEAR: f"INTERVAL YEAR({data_type.precision})",
        resolutions.MONTH: "INTERVAL MONTH",
        resolutions.YEAR_TO_MONTH: f"INTERVAL YEAR({data_type.precision}) TO MONTH",
    }[data_type.resolution]


def _days_text(data_type: DayTimeIntervalType) -> str:
    digits = {"DAY": data_type.day_precision, "SECOND": data_type.fractional_precision}
    units = data_type.resolution.name.split("_TO_")
    return "INTERVAL " + " TO ".join(f"{unit}({digits[unit]})" if unit in digits else unit for unit in units)


_TOKEN = re.compile(r"\s*(?:(?P<name>\w+)|`(?P<quoted>(?:[^`]|``)*)`|'(?P<text>(?:[^']|'')*)'|(?P<mark>[<>(),]))")

_FROM_NAME: dict[str, Callable[[], DataType]] = {
    "BOOLEAN": DataTypes.BOOLEAN,
    "TINYINT": DataTypes.TINYINT,
    "SMALLINT": DataTypes.SMALLINT,
    "INT": DataTypes.INT,
    "INTEGER": DataTypes.INT,
    "BIGINT": DataTypes.BIGINT,
    "FLOAT": DataTypes.FLOAT,
    "DATE": DataTypes.DATE,
    "STRING": DataTypes.STRING,
    "BYTES": DataTypes.BYTES,
    "NULL": DataTypes.NULL,
    "VARIANT": VariantType,
    "BITMAP": BitmapType,
}


class _Parser:
    """Reads one type, token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Kind of token (name, quoted, text, mark) and its text.
        self._tokens = list(self._split(text))
        self._offset = 0

    def parse_type(self) -> DataType:
        data_type = self._parse_nullable(self._parse_bare_type())
        if self._accept("ARRAY"):
            return self._parse_nullable(DataTypes.ARRAY(data_type))
        if self._accept("MULTISET"):
            return self._parse_nullable(DataTypes.MULTISET(data_type))
        return data_type

    def _parse_nullable(self, data_type: DataType) -> DataType:
        if self._accept("NOT"):
            self._expect("NULL")
            return data_type.not_null()
        self._accept("NULL")
        return data_type

    def expect_end(self) -> None:
        if self._offset < len(self._tokens):
            raise self.problem(f"nothing more is expected at '{self._tokens[self._offset][1]}'")

    def _parse_bare_type(self) -> DataType:
        name = self._next("name").upper()
        if name in _FROM_NAME:
            return _FROM_NAME[name]()
        rule = _RULES.get(name)
        if rule is None:
            raise self.problem(f"there is no type '{name}'")
        return rule(self)

    def parse_char(self) -> DataType:
        return CharType(self._parse_length())

    def parse_binary(self) -> DataType:
        return BinaryType(self._parse_length())

    def parse_varchar(self) -> DataType:
        return VarCharType(self._parse_length())

    def parse_varbinary(self) -> DataType:
        return VarBinaryType(self._parse_length())

    def _parse_length(self) -> int:
        """Read a length; in these texts all four types have one by default, in statements CHAR and BINARY alone."""
        length = self._parse_numbers(1)[0]
        if not 1 <= length <= LONGEST:
            raise self.problem(f"the length {length} is not between 1 and {LONGEST}")
        return length

    def parse_double(self) -> DataType:
        self._accept("PRECISION")
        return DataTypes.DOUBLE()

    def parse_decimal(self) -> DataType:
        precision, scale = self._parse_numbers(10, 0)
        return DecimalType(precision, scale)

    def parse_time(self) -> DataType:
        precision = self._parse_numbers(0)[0]
        if self._parse_zone():
            raise self.problem("a time of day has no zone")
        return DataTypes.TIME(precision)

    def parse_timestamp(self) -> DataType:
        precision = self._parse_numbers(6)[0]
        return {"": TimestampType, "TIME": ZonedTimestampType, "LOCAL": LocalZonedTimestampType}[self._parse_zone()](
            precision
        )

    def parse_timestamp_ltz(self) -> DataType:
        return LocalZonedTimestampType(self._parse_numbers(6)[0])

    def parse_interval(self) -> DataType:
        upper = self._parse_unit()
        return from_resolutions(upper, self._parse_unit() if self._accept("TO") else None)

    def parse_array(self) -> DataType:
        return DataTypes.ARRAY(self._parse_elements(1)[0])

    def parse_multiset(self) -> DataType:
        return DataTypes.MULTISET(self._parse_elements(1)[0])

    def parse_map(self) -> DataType:
        key, value = self._parse_elements(2)
        return DataTypes.MAP(key, value)

    def parse_row(self) -> DataType:
        closing = ">" if self._accept("<") else ")"
        if closing == ")":
            self._expect("(")
        fields: list[RowField] = []
        while not self._accept(closing):
            if fields:
                self._expect(",")
            fields.append(self._parse_field())
        if twice := repeated_names(fields):
            raise self.problem(f"Field names must be unique. Found duplicates: [{', '.join(twice)}]")
        return DataTypes.ROW(fields)

    def parse_structured(self) -> DataType:
        self._expect("<")
        name = self._next("text")
        fields: list[RowField] = []
        while not self._accept(">"):
            self._expect(",")
            fields.append(self._parse_field())
        return StructuredType(name, fields)

    def _parse_field(self) -> RowField:
        name, data_type = self._next("name", "quoted"), self.parse_type()
        return RowField(name, data_type, self._next("text") if self._peek("text") else None)

    def _parse_elements(self, count: int) -> list[DataType]:
        self._expect("<")
        elements = [self.parse_type()]
        while len(elements) < count:
            self._expect(",")
            elements.append(self.parse_type())
        self._expect(">")
        return elements

    def _parse_zone(self) -> str:
        """Read WITH [LOCAL] TIME ZONE or WITHOUT TIME ZONE and return the word that tells them apart."""
        if self._accept("WITHOUT"):
            self._expect("TIME")
            self._expect("ZONE")
            return ""
        if not self._accept("WITH"):
            return ""
        is_local = self._accept("LOCAL")
        self._expect("TIME")
        self._expect("ZONE")
        return "LOCAL" if is_local else "TIME"

    def _parse_unit(self) -> Resolution:
        name = self._next("name").upper()
        if name not in Resolution.IntervalUnit.__members__:
            raise self.problem(f"'{name}' is not a time unit")
        digits = {"YEAR": 2, "DAY": 2, "SECOND": 6}
        if name not in digits:
            return Resolution(Resolution.IntervalUnit[name])
        return Resolution(Resolution.IntervalUnit[name], self._parse_numbers(digits[name])[0])

    def _parse_numbers(self, *defaults: int) -> list[int]:
        """Read numbers in brackets; those that are missing have their defaults."""
        numbers: list[int] = []
        if self._accept("("):
            numbers.append(self._parse_number())
            while self._accept(","):
                numbers.append(self._parse_number())
            self._expect(")")
        if len(numbers) > len(defaults):
            raise self.problem(f"at most {len(defaults)} numbers are expected, got {numbers}")
        return [*numbers, *defaults[len(numbers) :]]

    def _parse_number(self) -> int:
        text = self._next("name")
        if not text.isdigit():
            raise self.problem(f"a number is expected at '{text}'")
        return int(text)

    def _peek(self, *kinds: str) -> bool:
        return self._offset < len(self._tokens) and self._tokens[self._offset][0] in kinds

    def _next(self, *kinds: str) -> str:
        if not self._peek(*kinds):
            token = self._tokens[self._offset][1] if self._offset < len(self._tokens) else "the end"
            raise self.problem(f"a {' or '.join(kinds)} is expected at '{token}'")
        self._offset += 1
        return self._tokens[self._offset - 1][1]

    def _accept(self, word: str) -> bool:
        is_next = self._peek("name", "mark") and self._tokens[self._offset][1].upper() == word
        self._offset += is_next
        return is_next

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self.problem(f"'{word}' is expected")

    def _split(self, text: str) -> list[tuple[str, str]]:
        tokens: list[tuple[str, str]] = []
        offset = 0
        text = text.rstrip()
        while offset < len(text):
            match = _TOKEN.match(text, offset)
            if match is None or match.lastgroup is None:
                raise self.problem(f"the character '{text[offset]}' is not expected")
            quote = {"quoted": "`", "text": "'"}.get(match.lastgroup, "")
            tokens.append((match.lastgroup, match[match.lastgroup].replace(quote * 2, quote)))
            offset = match.end()
        return tokens

    def problem(self, reason: str) -> ConfigurationError:
        return ConfigurationError(f"the type '{self._text}' is not understood: {reason}")


_RULES: dict[str, Callable[[_Parser], DataType]] = {
    "CHAR": _Parser.parse_char,
    "VARCHAR": _Parser.parse_varchar,
    "BINARY": _Parser.parse_binary,
    "VARBINARY": _Parser.parse_varbinary,
    "DOUBLE": _Parser.parse_double,
    "DECIMAL": _Parser.parse_decimal,
    "DEC": _Parser.parse_decimal,
    "NUMERIC": _Parser.parse_decimal,
    "TIME": _Parser.parse_time,
    "TIMESTAMP": _Parser.parse_timestamp,
    "TIMESTAMP_LTZ": _Parser.parse_timestamp_ltz,
    "INTERVAL": _Parser.parse_interval,
    "ARRAY": _Parser.parse_array,
    "MULTISET": _Parser.parse_multiset,
    "MAP": _Parser.parse_map,
    "ROW": _Parser.parse_row,
    "STRUCTURED": _Parser.parse_structured,
}
