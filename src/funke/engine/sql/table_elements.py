"""Tables of what a program has at hand (elements, rows of expressions, a DataFrame of pandas), and rows as such."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column, Constants
from funke.engine.sql.functions.values import from_values, to_values
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.user_values import from_user_value
from funke.engine.types.logical import (
    DataType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    UserDefinedType,
    YearMonthIntervalType,
    from_arrow_type,
    to_arrow_type,
    to_column_type,
)
from funke.engine.types.logical.element_types import infer_row_type, to_fields, verifier

if TYPE_CHECKING:
    from funke.engine.types.logical import SqlValue

__all__ = ["elements_relation", "frame_relation", "to_frame", "values_query"]

Schema = DataType | Sequence[str] | None

# Types that PyFlink does not give to pandas: their values stay what `collect()` gives.
_ONLY_HERE = (DayTimeIntervalType, YearMonthIntervalType, MultisetType, UserDefinedType, RawType)


def elements_relation(elements: Iterable[Any], schema: Schema, verify_schema: bool) -> Constants:
    """The rows of elements, whose types are given or inferred."""
    listed = list(elements)
    row_type = _row_type(listed, schema)
    if isinstance(schema, DataType) and verify_schema:
        verify = verifier(schema, None if isinstance(schema, RowType) else "field value")
        for each in listed:
            verify(each)
    return _relation(row_type, [to_fields(each, row_type) for each in listed])


def values_query(rows: Sequence[syntax.Expression], schema: Schema) -> queries.Query:
    """The query of rows that are given as expressions; they are cast to a type if one is given."""
    values = queries.Values(tuple(map(_fields_of, rows)))
    if schema is None:
        names = tuple(f"f{index}" for index in range(len(values.rows[0])))
        return queries.Select((syntax.Star(),), queries.SubQuery(values, column_aliases=names))
    if not isinstance(schema, RowType):
        raise TypeError(f"schema should be RowType, list, tuple or None, but got: {schema}")
    names = tuple(schema.names)
    casts = (syntax.Alias(syntax.Cast(syntax.Name((each.name,)), each.data_type), (each.name,)) for each in schema)
    return queries.Select(tuple(casts), queries.SubQuery(values, column_aliases=names))


def frame_relation(pdf: Any, schema: Any, zone: datetime.tzinfo) -> Constants:
    """The rows of a DataFrame of pandas; instants without a zone are those of the session's."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(pdf)}")
    row_type = _frame_type(pa.Schema.from_pandas(pdf, preserve_index=False), schema)
    if len(row_type) > len(pdf.columns):
        raise IndexError(f"the schema has {len(row_type)} fields, the DataFrame {len(pdf.columns)} columns")
    # As in PyFlink columns are taken by their indexes, as many as there are fields.
    columns = [_frame_values(pdf.iloc[:, index], each.data_type, zone) for index, each in enumerate(row_type)]
    return _relation(row_type, list(zip(*columns)))


def _frame_values(series: Any, data_type: DataType, zone: datetime.tzinfo) -> list[SqlValue]:
    """The values of a column, which must fit the type."""
    import pyarrow as pa
    from pandas.api.types import is_datetime64_any_dtype

    arrow_type = to_arrow_type(data_type)
    if isinstance(data_type, LocalZonedTimestampType) and is_datetime64_any_dtype(series.dtype):
        series = series.dt.tz_localize(zone) if series.dt.tz is None else series
        arrow_type = to_column_type(data_type)
    try:
        return to_values(pa.Array.from_pandas(series, mask=series.isnull(), type=arrow_type), data_type)
    except pa.ArrowException as error:
        raise RuntimeError(
            f"Exception thrown when converting pandas.Series ({series.dtype}) to pyarrow.Array ({arrow_type}).", error
        ) from error


def to_frame(columns: Sequence[Column], rows: Sequence[Sequence[SqlValue]], zone: datetime.tzinfo) -> Any:
    """A DataFrame of pandas with rows of a table: arrays are those of numpy, rows are dicts, instants have the zone."""
    import pandas as pd

    frame = pd.DataFrame.from_records(rows, columns=range(len(columns)))
    for index, column in enumerate(columns):
        if rows and not isinstance(column.type, _ONLY_HERE):
            series = from_values([row[index] for row in rows], column.type).to_pandas()
            is_instant = isinstance(column.type, LocalZonedTimestampType)
            frame[index] = series.dt.tz_convert(zone) if is_instant else series
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
    converts = [from_user_value(each.type, is_element=True) for each in columns]
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


def _fields_of(row: syntax.Expression) -> tuple[syntax.Expression, ...]:
    fields = row.arguments if isinstance(row, syntax.Call) and row.name == "row" else (row,)
    if not fields:
        raise ValidationException("a row needs at least one value")
    return fields
