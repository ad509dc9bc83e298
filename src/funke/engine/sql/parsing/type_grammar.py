"""Types as they are written: INT NOT NULL, DECIMAL(10, 2), ROW<a ARRAY<STRING>>, INTERVAL DAY TO SECOND(3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.sql.parsing.cursor import Cursor
from funke.engine.sql.parsing.interval_literals import UNITS, IntervalUnits, to_interval_type
from funke.engine.types.logical import (
    LONGEST,
    ArrayType,
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowField,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
    repeated_names,
)

__all__ = ["TypeGrammar"]

_PLAIN: dict[str, Callable[[], DataType]] = {
    "BOOLEAN": BooleanType,
    "TINYINT": TinyIntType,
    "SMALLINT": SmallIntType,
    "INT": IntType,
    "INTEGER": IntType,
    "BIGINT": BigIntType,
    "FLOAT": FloatType,
    "STRING": lambda: VarCharType(LONGEST),
    "BYTES": lambda: VarBinaryType(LONGEST),
    "DATE": DateType,
    "VARIANT": VariantType,
    "BITMAP": BitmapType,
}
_UNSUPPORTED = {"RAW"}
# DECIMAL(50, 2) is DECIMAL(38, 2), as in Flink.
_MOST_DIGITS = 38


class TypeGrammar(Cursor):
    def data_type(self, has_nulls: bool = True) -> DataType:
        """A type, maybe with ARRAY or MULTISET around it, and NULL or NOT NULL behind it where that may be said."""
        result = self._bare_type()
        result = self._with_nulls(result) if has_nulls else result
        while word := self.accept_any("ARRAY", "MULTISET"):
            result = ArrayType(result) if word == "ARRAY" else MultisetType(result)
            result = self._with_nulls(result) if has_nulls else result
        return result

    def _with_nulls(self, data_type: DataType) -> DataType:
        if self.accept("NOT", "NULL"):
            return data_type.not_null()
        self.accept("NULL")
        return data_type

    def _bare_type(self) -> DataType:
        token = self.token
        if token.kind != "word":
            self.reject()
        if token.key in _UNSUPPORTED:
            raise UnsupportedFeatureError(f"the type {token.key}")
        if token.key in _PLAIN:
            self.advance()
            return _PLAIN[token.key]()
        read = _READERS.get(token.key)
        if read is None:
            self._reject_type()
        self.advance()
        return read(self)

    def _reject_type(self) -> NoReturn:
        """A name that no type has; a reserved word is none."""
        if not self.at_identifier():
            self.reject()
        token = self.advance()
        self.fail_to_mean(f"Unknown identifier '{token.text}'", token)

    def _double_type(self) -> DataType:
        self.accept("PRECISION")
        return DoubleType()

    def _decimal_type(self) -> DataType:
        precision, scale = 10, 0
        start = self.token
        if self.accept("("):
            precision = min(self.whole_number(), _MOST_DIGITS)
            scale = self.whole_number() if self.accept(",") else 0
            self.expect(")")
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            self.fail(f"DECIMAL({precision}, {scale}) has no precision of 1 to 38 with a scale up to it", start)
        return DecimalType(precision, scale)

    def _char_type(self) -> DataType:
        if self.accept("VARYING"):
            return self._varchar_type()
        # The standard's default: CHAR is CHAR(1), BINARY is BINARY(1).
        return CharType(self._length(1))

    def _varchar_type(self) -> DataType:
        # In SQL Flink reads VARCHAR without a length as STRING.
        return VarCharType(self._length(LONGEST))

    def _binary_type(self) -> DataType:
        if self.accept("VARYING"):
            return self._varbinary_type()
        return BinaryType(self._length(1))

    def _varbinary_type(self) -> DataType:
        return VarBinaryType(self._length(LONGEST))

    def _length(self, default: int) -> int:
        token = self.token
        length = self._in_parentheses_or(default)
        if not 1 <= length <= LONGEST:
            self.fail(f"the length {length} is not between 1 and {LONGEST}", token)
        return length

    def _in_parentheses_or(self, default: int) -> int:
        if not self.accept("("):
            return default
        number = self.whole_number()
        self.expect(")")
        return number

    def _fraction_digits(self, default: int, most: int) -> int:
        """Digits of seconds behind the point: what a type cannot keep is left out, as in Flink."""
        return min(self._in_parentheses_or(default), most)

    def _time_type(self) -> DataType:
        # Flink keeps times of day in milliseconds.
        precision = self._fraction_digits(0, 3)
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        return TimeType(precision)

    def _timestamp_type(self) -> DataType:
        # Microseconds by default, as in the standard; at most nanoseconds.
        precision = self._fraction_digits(6, 9)
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        elif self.accept("WITH"):
            self.expect("LOCAL", "TIME", "ZONE")
            return LocalZonedTimestampType(precision)
        return TimestampType(precision)

    def _timestamp_ltz_type(self) -> DataType:
        return LocalZonedTimestampType(self._fraction_digits(6, 9))

    def _interval_type(self) -> DataType:
        return to_interval_type(self.interval_units())

    def interval_units(self) -> IntervalUnits:
        """`DAY(3) TO SECOND(2)`, `HOUR`, `MINUTES`."""
        first, last = self._interval_unit(), None
        digits = fraction = None
        if self.accept("("):
            digits = self.whole_number()
            fraction = self.whole_number() if first == "SECOND" and self.accept(",") else None
            self.expect(")")
        token = self.token
        if self.accept("TO"):
            last = self._interval_unit()
            if last == "SECOND":
                fraction = self._fraction_digits(3, 9)
        units = IntervalUnits(first, last, digits, fraction)
        if not units.is_valid:
            self.reject(token)
        return units

    def _interval_unit(self) -> str:
        unit = UNITS.get(self.token.key) or self.reject()
        self.advance()
        return unit

    def _array_type(self) -> DataType:
        return ArrayType(self._element_type())

    def _multiset_type(self) -> DataType:
        return MultisetType(self._element_type())

    def _element_type(self) -> DataType:
        self.expect("<")
        element_type = self.data_type()
        self.expect(">")
        return element_type

    def _map_type(self) -> DataType:
        self.expect("<")
        key = self.data_type()
        self.expect(",")
        value = self.data_type()
        self.expect(">")
        return MapType(key, value)

    def _row_type(self) -> DataType:
        if self.accept("<>") or self.accept("(", ")"):
            return RowType([])
        closing = {"<": ">", "(": ")"}[self.expect_any("<", "(")]
        start = self.token
        fields = self.separated(self._row_field)
        self.expect(closing)
        if twice := repeated_names(fields):
            self.fail_to_mean(f"Field names must be unique. Found duplicates: [{', '.join(twice)}]", start)
        return RowType(list(fields))

    def _structured_type(self) -> DataType:
        self.expect("<")
        name = self.string()
        fields = self.separated(self._row_field) if self.accept(",") else ()
        self.expect(">")
        return StructuredType(name, list(fields))

    def _row_field(self) -> RowField:
        field = RowField(self.identifier(), self.data_type())
        if self.token.kind == "string":
            self.string()  # a comment for readers: in Flink it is not part of the type
        return field


_READERS: dict[str, Callable[[TypeGrammar], DataType]] = {
    "DOUBLE": TypeGrammar._double_type,
    "STRUCTURED": TypeGrammar._structured_type,
    "DECIMAL": TypeGrammar._decimal_type,
    "DEC": TypeGrammar._decimal_type,
    "NUMERIC": TypeGrammar._decimal_type,
    "CHAR": TypeGrammar._char_type,
    "CHARACTER": TypeGrammar._char_type,
    "VARCHAR": TypeGrammar._varchar_type,
    "BINARY": TypeGrammar._binary_type,
    "VARBINARY": TypeGrammar._varbinary_type,
    "TIME": TypeGrammar._time_type,
    "TIMESTAMP": TypeGrammar._timestamp_type,
    "TIMESTAMP_LTZ": TypeGrammar._timestamp_ltz_type,
    "INTERVAL": TypeGrammar._interval_type,
    "ARRAY": TypeGrammar._array_type,
    "MULTISET": TypeGrammar._multiset_type,
    "MAP": TypeGrammar._map_type,
    "ROW": TypeGrammar._row_type,
}
