"""The connector faker: rows whose values are described by expressions, by column."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.table.text_cells import cell_reader
from funke.engine.sql.connectors.datagen.datagen_factory import DatagenTableSource
from funke.engine.sql.connectors.datagen.field_makers import FieldOptions
from funke.engine.sql.connectors.datagen.value_makers import (
    ArrayMaker,
    IntegerMaker,
    MapMaker,
    RowMaker,
    ValueMaker,
)
from funke.engine.sql.connectors.faker.expressions import InventedValue, expression_maker
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.types.columns.arrays import Array
from funke.engine.types.logical.atomic_types import BinaryType, IntType, VarBinaryType
from funke.engine.types.logical.collection_types import ArrayType, MapType, MultisetType
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.row_type import RowType
from funke.engine.types.logical.time_types import DateType, LocalZonedTimestampType, TimestampType, TimeType

__all__ = ["FakerFactory"]

_RATE = TableOption("rows-per-second", "Long", "10000", "How many rows are made in a second.")
_ROWS = TableOption("number-of-rows", "Long", None, "The number of rows; without it the table is unbounded.")
_EXPRESSION = TableOption(
    "fields.#.expression",
    description=(
        "The expression of the values, such as `#{Name.first_name}`, `#{number.numberBetween '1','99'}`, "
        "`#{regexify '(A|B){2}'}`, `#{date.past '5','SECONDS'}`; maps have one for `#.key` and one for `#.value`."
    ),
)
_NULL_RATE = TableOption("fields.#.null-rate", "Double", "0", "The part of values that are NULL, from 0 to 1.")
_LENGTH = TableOption("fields.#.length", "Integer", "1", "The number of elements of arrays, maps and multisets.")
_TIME_FORMATS: dict[type[DataType], str] = {
    DateType: "%Y-%m-%d",
    TimeType: "%H:%M:%S",
    TimestampType: "%Y-%m-%d %H:%M:%S.%f",
}


class FakerFactory(TableFactory):
    identifier = "faker"
    purpose = "Generates rows by the common expressions of datafaker, for tests and demonstrations."
    reads = True
    takes_common_options = False
    optional_options = (_RATE, _ROWS, _EXPRESSION, _NULL_RATE, _LENGTH)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        own = [option for _, options in _makers(context) for option in options.used]
        return (), (_RATE, _ROWS, *own)

    def create_source(self, context: TableContext) -> DatagenTableSource:
        values = context.values
        makers = tuple(maker for maker, _ in _makers(context))
        return FakerTableSource(context.columns, makers, values[_ROWS], values[_RATE])


class FakerTableSource(DatagenTableSource):
    """Generated rows whose values are those of expressions."""

    summary = "faker"


def _makers(context: TableContext) -> list[tuple[ValueMaker, FieldOptions]]:
    options = [FieldOptions(each.name, context.values) for each in context.columns]
    return [(_maker(each.type, option), option) for each, option in zip(context.columns, options)]


def _maker(data_type: DataType, options: FieldOptions) -> ValueMaker:
    null_rate = options.get(_NULL_RATE)
    if isinstance(data_type, RowType):
        fields = tuple(_maker(each.data_type, options.inner(each.name)) for each in data_type)
        return RowMaker(data_type, null_rate, fields)
    if isinstance(data_type, MapType):
        key, value = (
            _invented(each, options.inner(name))
            for each, name in ((data_type.key_type, "key"), (data_type.value_type, "value"))
        )
        return MapMaker(data_type, null_rate, key, value, options.get(_LENGTH))
    if isinstance(data_type, ArrayType):
        return ArrayMaker(data_type, null_rate, _invented(data_type.element_type, options), options.get(_LENGTH))
    if isinstance(data_type, MultisetType):
        element = _invented(data_type.element_type, options)
        return MapMaker(data_type, null_rate, element, IntegerMaker(IntType(False), 0.0, 1, 1), options.get(_LENGTH))
    return _invented(data_type, options, null_rate)


def _invented(data_type: DataType, options: FieldOptions, null_rate: float = 0.0) -> ValueMaker:
    expression = options.get(_EXPRESSION)
    if expression is None:
        raise ValidationException(
            f"No expression found for {options.name} field; set 'fields.{options.name}.expression'."
        )
    maker = ExpressionMaker(data_type, null_rate, expression)
    # An expression that gives no value of the type is rejected when the table is used, not in a slot.
    try:
        maker.column(np.arange(1), np.random.default_rng(0))
    except ValueError as error:
        raise ValidationException(f"The expression of field {options.name} gives no such value: {error}") from error
    return maker


@dataclass(frozen=True)
class ExpressionMaker(ValueMaker):
    """Makes values of an expression; it is parsed again in each slot."""

    expression: str = ""

    def _make(self, indexes: Array, chance: np.random.Generator) -> pa.Array:
        invent, own_chance = expression_maker(self.expression), random.Random(int(chance.integers(1 << 62)))
        return pa.array([self._value(invent(own_chance)) for _ in range(len(indexes))], self.arrow_type)

    def _value(self, invented: InventedValue) -> Any:
        text = invented if isinstance(invented, str) else self._time_text(invented)
        if isinstance(self.type, (BinaryType, VarBinaryType)):
            return text.encode()
        return cell_reader(self.type)(text)

    def _time_text(self, invented: datetime.datetime) -> str:
        if isinstance(self.type, LocalZonedTimestampType):
            return f"{invented.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S.%f}Z"
        return invented.strftime(_TIME_FORMATS.get(type(self.type), "%Y-%m-%d %H:%M:%S.%f"))
