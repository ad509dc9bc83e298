"""pandas and Arrow: columns of either as those of the other, with instants in a zone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from funke.table.types import DataType, LocalZonedTimestampType, RowType

__all__ = ["arrow_to_pandas", "pandas_to_arrow", "tz_convert_from_internal", "tz_convert_to_internal"]


def pandas_to_arrow(schema: Any, timezone: Any, field_types: Sequence[DataType], series: Sequence[Any]) -> Any:
    """Return a record batch of columns; those of a row are a DataFrame."""
    import pandas as pd
    import pyarrow as pa

    arrays = []
    for column, data_type, arrow_type in zip(series, field_types, schema.types):
        if isinstance(column, pd.DataFrame):
            parts = [_array(column.iloc[:, index], field.type) for index, field in enumerate(arrow_type)]
            arrays.append(pa.StructArray.from_arrays(parts, [field.name for field in arrow_type]))
        else:
            arrays.append(_array(tz_convert_to_internal(column, data_type, timezone), arrow_type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: Any, arrow_type: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(column, mask=column.isnull(), type=arrow_type)
    except pa.ArrowException as error:
        raise RuntimeError(f"a pandas.Series of {column.dtype} does not become Arrow's {arrow_type}", error) from error


def arrow_to_pandas(timezone: Any, field_types: Sequence[DataType], batches: Iterable[Any]) -> list[Any]:
    """Return the columns of record batches; that of a row is a DataFrame."""
    import pyarrow as pa

    columns = pa.Table.from_batches(list(batches)).itercolumns()
    return [
        tz_convert_from_internal(_column(column, data_type), data_type, timezone)
        for column, data_type in zip(columns, field_types)
    ]


def _column(column: Any, data_type: DataType) -> Any:
    if not isinstance(data_type, RowType):
        return column.to_pandas(date_as_object=True)
    import pandas as pd

    parts = zip(column.flatten(), column.type)
    return pd.concat([part.to_pandas(date_as_object=True).rename(field.name) for part, field in parts], axis=1)


def tz_convert_from_internal(s: Any, t: DataType, local_tz: Any) -> Any:
    """Return instants in a zone; other columns as they are."""
    return s.dt.tz_localize(local_tz) if isinstance(t, LocalZonedTimestampType) else s


def tz_convert_to_internal(s: Any, t: DataType, local_tz: Any) -> Any:
    """Return instants as what the clocks of a zone show, without it; other columns as they are."""
    if not isinstance(t, LocalZonedTimestampType) or not hasattr(s, "dt"):
        return s
    return s if s.dt.tz is None else s.dt.tz_convert(local_tz).dt.tz_localize(None)
