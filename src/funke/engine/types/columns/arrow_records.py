"""Records as Arrow tables: typed streams by their type, untyped ones by what their values look like."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import TypeMismatchError
from funke.engine.types import ExternalTypeInfo, PickledBytesTypeInfo, Row, RowTypeInfo, TupleTypeInfo
from funke.engine.types.information.arrow_types import field_names, to_arrow
from funke.engine.types.information.arrow_values import to_arrow_value

if TYPE_CHECKING:
    from funke.engine.types import TypeInformation

__all__ = ["SINGLE_COLUMN", "TableEncoder", "column_of", "table_encoder"]

SINGLE_COLUMN = "value"
"""The column of records that are single values, as Spark names it."""

TableEncoder = Callable[[list[Any]], Any]


def table_encoder(input_type: TypeInformation | None) -> TableEncoder:
    """Return the function that turns a batch (not an empty one) into an Arrow table."""
    if isinstance(input_type, ExternalTypeInfo):
        return table_encoder(input_type._type_info)
    if input_type is None or isinstance(input_type, PickledBytesTypeInfo):
        return _infer_table
    if isinstance(input_type, (RowTypeInfo, TupleTypeInfo)):
        return _fields_encoder(input_type)
    return _single_column_encoder(input_type)


def _single_column_encoder(input_type: TypeInformation) -> TableEncoder:
    arrow_type, convert = to_arrow(input_type), to_arrow_value(input_type)

    def encode(values: list[Any]) -> Any:
        converted = values if convert is None else [convert(value) for value in values]
        return pa.table({SINGLE_COLUMN: _column(SINGLE_COLUMN, converted, arrow_type)})

    return encode


def _fields_encoder(input_type: RowTypeInfo | TupleTypeInfo) -> TableEncoder:
    schema = pa.schema(list(to_arrow(input_type)))
    converters = [to_arrow_value(field_type) for field_type in input_type.get_field_types()]
    names = field_names(input_type)

    def encode(values: list[Any]) -> Any:
        columns = zip(*[_fields_of(value, names) for value in values], strict=True)
        arrays = [
            _column(field.name, column if convert is None else [convert(item) for item in column], field.type)
            for field, convert, column in zip(schema, converters, columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    return encode


def column_of(name: str, values: list[Any], type_info: TypeInformation) -> Any:
    """Return values of a type as an Arrow array."""
    convert = to_arrow_value(type_info)
    return _column(name, values if convert is None else list(map(convert, values)), to_arrow(type_info))


def _column(name: str, values: Any, arrow_type: Any) -> Any:
    try:
        if pa.types.is_decimal(arrow_type):
            return _decimals(values, arrow_type)
        return pa.array(values, arrow_type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise TypeMismatchError(f"column {name!r} of type {arrow_type} cannot take its values: {error}") from error


def _decimals(values: Any, arrow_type: Any) -> Any:
    """As in Flink, digits behind the scale are rounded half up."""
    try:
        return pa.array(values, arrow_type)
    except pa.ArrowInvalid:
        context = Context(2 * arrow_type.precision, ROUND_HALF_UP)
        last = Decimal(1).scaleb(-arrow_type.scale)
        rounded = [each.quantize(last, context=context) if isinstance(each, Decimal) else each for each in values]
        return pa.array(rounded, arrow_type)


def _fields_of(value: Any, names: list[str]) -> Any:
    if isinstance(value, Row):
        return value._values
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    return value


def _infer_table(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, dict) or (isinstance(first, Row) and hasattr(first, "_fields")):
        return pa.Table.from_pylist([_as_dict(value) for value in values])
    if isinstance(first, (Row, tuple)):
        columns = list(zip(*values, strict=True))
        return pa.table({f"f{i}": pa.array(column) for i, column in enumerate(columns)})
    return pa.table({SINGLE_COLUMN: pa.array(values)})


def _as_dict(value: Any) -> Any:
    return value.as_dict(recursive=True) if isinstance(value, Row) else value
