"""Tables of what a program has at hand (elements, rows of expressions, a DataFrame of pandas), and rows as such."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column, Constants
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.user_values import from_user_value
from funke.engine.types.logical.element_types import infer_row_type, to_fields, verifier
from funke.engine.types.logical.row_type import RowField
from funke.table.expression import Expression
from funke.table.types import (
    DataType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    from_arrow_type,
    to_arrow_type,
)

__all__ = ["elements_relation", "frame_relation", "to_frame", "values_query"]

Schema = DataType | Sequence[str] | None

# Types whose width or unit pandas cannot tell from values.
_EXACT_TYPES = (TinyIntType, SmallIntType, IntType, FloatType, TimestampType)


def elements_relation(elements: Iterable[Any], schema: Schema, verify_schema: bool) -> Constants:
    """The rows of elements, whose types are told or found."""
    listed = list(elements)
    row_type = _row_type(listed, schema)
    if isinstance(schema, DataType) and verify_schema:
        verify = verifier(schema, None if isinstance(schema, RowType) else "field value")
        for each in listed:
            verify(each)
    return _relation(row_type, [to_fields(each, row_type) for each in listed])


def values_query(rows: Sequence[Expression[Any]], schema: Schema) -> queries.Query:
    """The query of rows that are given as expressions; they are cast to a type if one is told."""
    values = queries.Values(tuple(map(_fields_of, rows)))
    if schema is None:
        names = tuple(f"f{place}" for place in range(len(values.rows[0])))
        return queries.Select((syntax.Star(),), queries.SubQuery(values, column_aliases=names))
    if not isinstance(schema, RowType):
        raise TypeError(f"schema should be RowType, list, tuple or None, but got: {schema}")
    names = tuple(schema.names)
    casts = (syntax.Alias(syntax.Cast(syntax.Name((each.name,)), each.data_type), (each.name,)) for each in schema)
    return queries.Select(tuple(casts), queries.SubQuery(values, column_aliases=names))


def frame_relation(pdf: Any, schema: Any) -> Constants:
    """The rows of a DataFrame of pandas."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(pdf)}")
    table = pa.Table.from_pandas(pdf, preserve_index=False)
    row_type = _frame_type(table.schema, schema)
    columns = [each.to_pylist() for each in table.columns]
    return _relation(row_type, list(zip(*columns)))


def to_frame(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Any:
    """A DataFrame of pandas with rows of a table."""
    import pandas as pd
    import pyarrow as pa

    frame = pd.DataFrame.from_records(rows, columns=range(len(columns)))
    for place, column in enumerate(columns):
        if rows and isinstance(column.type, _EXACT_TYPES):
            frame[place] = pa.array((row[place] for row in rows), to_arrow_type(column.type)).to_pandas()
    frame.columns = [column.name for column in columns]
    return frame


def _row_type(elements: list[Any], schema: Schema) -> RowType:
    if isinstance(schema, RowType):
        return schema
    if isinstance(schema, DataType):
        return RowType([RowField("value", schema)])
    if schema is not None and not isinstance(schema, (list, tuple)):
        raise TypeError(f"schema should be RowType, list, tuple or None, but got: {schema}")
    return infer_row_type(elements, schema)


def _relation(row_type: RowType, rows: Sequence[Sequence[Any]]) -> Constants:
    columns = tuple(Column(each.name, each.data_type) for each in row_type)
    converts = [from_user_value(each.type) for each in columns]
    if any(converts):
        rows = [
            tuple(value if convert is None else convert(value) for convert, value in zip(converts, row)) for row in rows
        ]
    return Constants(columns, tuple(map(tuple, rows)))


def _frame_type(arrow_schema: Any, schema: Any) -> RowType:
    if isinstance(schema, RowType):
        return schema
    names = list(arrow_schema.names)
    types = [from_arrow_type(field.type, field.nullable) for field in arrow_schema]
    if isinstance(schema, (list, tuple)) and isinstance(schema[0], str):
        names = list(schema)
    elif isinstance(schema, (list, tuple)) and isinstance(schema[0], DataType):
        types = list(schema)
    elif schema is not None:
        raise TypeError(
            f"Unsupported schema type, it could only be of RowType, a list of str or a list of DataType, got {schema}"
        )
    return RowType([RowField(*each) for each in zip(names, types)])


def _fields_of(row: Expression[Any]) -> tuple[syntax.Expression, ...]:
    expression = row._syntax
    is_row = isinstance(expression, syntax.Call) and expression.name == "row"
    fields = expression.arguments if isinstance(expression, syntax.Call) and is_row else (expression,)
    if not fields:
        raise ValidationException("a row needs at least one value")
    return fields
