"""Columns of pandas as a stream of Arrow's record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

from funke.table.types import RowType
from funke.table.utils import arrow_to_pandas, pandas_to_arrow

__all__ = ["ArrowSerializer"]


class ArrowSerializer:
    """Writes lists of pandas.Series, one for each column, and reads them."""

    def __init__(self, schema: Any, row_type: RowType, timezone: Any) -> None:
        self._schema = schema
        self._field_types = row_type.field_types()
        self._timezone = timezone

    def serialize(self, iterable: Iterable[list[Any]], stream: IO[bytes]) -> None:
        """Write each list of columns as a record batch."""
        import pyarrow as pa

        with pa.RecordBatchStreamWriter(stream, self._schema) as writer:
            for columns in iterable:
                writer.write_batch(pandas_to_arrow(self._schema, self._timezone, self._field_types, columns))

    def deserialize(self, stream: IO[bytes]) -> Iterator[list[Any]]:
        """Yield the columns of each record batch."""
        import pyarrow as pa

        for batch in pa.ipc.open_stream(stream):
            yield arrow_to_pandas(self._timezone, self._field_types, [batch])

    def __repr__(self) -> str:
        return "ArrowSerializer"
