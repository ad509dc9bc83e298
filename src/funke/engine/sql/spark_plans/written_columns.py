"""Columns of tables in the form in which Spark's writers take them: by meaning, as far as Spark has the types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.information.arrow_types import to_arrow

__all__ = ["to_written", "written_schema"]


def written_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of rows that are written; the same as that of rows which slots send to the driver."""
    return pa.schema(list(to_arrow(row_type_of(columns))))


def to_written(data: Any, schema: Any) -> pa.RecordBatch:
    """A record batch of a table's columns; timestamps lose what is below a microsecond."""
    arrays = [
        array if array.type == field.type else array.cast(field.type, safe=False) for array, field in zip(data, schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
