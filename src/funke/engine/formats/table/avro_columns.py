"""Avro files of tables as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.formats.file_format import COLUMN_BATCH_RECORDS
from funke.engine.formats.table.table_format import TableFileFormat, schema_of

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical.row_type import RowField

__all__ = ["AvroTableFormat", "avro_column"]


@dataclass(frozen=True)
class AvroTableFormat(TableFileFormat):
    """Reads fields by name; one that the files do not have is NULL."""

    columns: tuple[RowField, ...]

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> AvroTableFormat:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the records of a file."""
        import fastavro

        schema = schema_of(self.columns)
        with file.open_content() as content:
            try:
                records = fastavro.reader(content)
                while batch := list(islice(records, COLUMN_BATCH_RECORDS)):
                    columns = [avro_column([each.get(field.name) for each in batch], field.type) for field in schema]  # type: ignore[union-attr]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
            except OSError:
                raise
            except Exception as error:  # whatever the decoder makes of damaged bytes, or of types that do not fit
                raise ValueError(f"its records cannot be read: {type(error).__name__}: {error}") from error


def avro_column(values: list[Any], arrow_type: Any) -> Any:
    """Return the column of what fastavro has read."""
    if pa.types.is_map(arrow_type):
        values = [None if each is None else list(each.items()) for each in values]
    if pa.types.is_timestamp(arrow_type):
        return pa.array(values, pa.timestamp("us", arrow_type.tz)).cast(arrow_type, safe=False)
    return pa.array(values, arrow_type)
