"""Lines of JSON as columns, with the rules of Flink's json format.

Arrow parses a chunk straight into the wanted columns. A chunk that holds something that it does not take (a number
where the table has a text, a map …) is read line by line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.json

from funke.engine.formats.record_chunks import LineEnds, open_chunks
from funke.engine.formats.table.json_nodes import JsonNodes
from funke.engine.formats.table.table_format import LineTableFormat, schema_of

if TYPE_CHECKING:
    from funke.engine.formats.input_file import InputFile
    from funke.engine.types.logical.row_type import RowField

__all__ = ["JsonTableFormat"]

_CHUNK_BYTES = 1 << 20
_NO_WAY = (pa.types.is_map, pa.types.is_binary, pa.types.is_fixed_size_binary, pa.types.is_time)


@dataclass(frozen=True)
class JsonTableFormat(LineTableFormat):
    columns: tuple[RowField, ...]
    fails_on_missing: bool = False
    ignores_errors: bool = False
    is_iso: bool = False
    joins_lines = True

    @property
    def fields(self) -> tuple[RowField, ...]:
        return self.columns

    def selecting(self, indexes: Sequence[int]) -> JsonTableFormat:
        return replace(self, columns=tuple(self.columns[index] for index in indexes))

    def columns_of(self, file: InputFile) -> Iterator[Any]:
        """Yield the rows of a file, a chunk at a time."""
        parse = self.parser()
        with open_chunks(file, 0, file.size, LineEnds()) as chunks:
            while data := chunks.take(_CHUNK_BYTES):
                batch = parse(data)
                if len(batch):
                    yield batch

    def parser(self) -> Callable[[bytes], Any]:
        return _JsonParser(self).parse


class _JsonParser:
    def __init__(self, form: JsonTableFormat) -> None:
        self._form = form
        self._schema = schema_of(form.columns)
        parsed = [_parsed_type(each.type) for each in self._schema]
        # Arrow does not say whether a field was missing, nor does it know maps.
        self._is_quick = not form.fails_on_missing and None not in parsed
        if self._is_quick:
            fields = [pa.field(each.name, kind) for each, kind in zip(self._schema, parsed)]
            self._options = pa.json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore", newlines_in_values=False
            )
        nodes = JsonNodes(form.fails_on_missing, form.ignores_errors, form.is_iso)
        self._readers = [nodes.field_reader(each.name, each.data_type) for each in form.columns]

    def parse(self, data: bytes) -> Any:
        """Return the columns of a chunk of whole lines."""
        if self._is_quick and not data.isspace():
            try:
                return self._quickly(data)
            except pa.ArrowInvalid:
                pass
        rows = [node for line in data.split(b"\n") if line.strip() for node in self._objects(line)]
        columns = [self._column(rows, index) for index in range(len(self._readers))]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _quickly(self, data: bytes) -> Any:
        read = pa.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        table = pa.json.read_json(pa.BufferReader(data), read, self._options)
        columns = [table.column(each.name).combine_chunks() for each in self._schema]
        plain = [each.chunk(0) if isinstance(each, pa.ChunkedArray) else each for each in columns]
        cast = [each.cast(field.type) for each, field in zip(plain, self._schema)]
        return pa.RecordBatch.from_arrays(cast, schema=self._schema)

    def _objects(self, line: bytes) -> list[dict[str, Any]]:
        """The objects of a line: one, or those of an array."""
        try:
            node = json.loads(line, parse_float=Decimal)
            nodes = node if isinstance(node, list) else [node]
            if not all(isinstance(each, dict) for each in nodes):
                raise ValueError("an object was expected")
        except ValueError as error:
            if self._form.ignores_errors:
                return []
            start = line[:80].decode("utf-8", "replace")
            raise ValueError(f"Failed to deserialize JSON '{start}'. {error}") from None
        return nodes

    def _column(self, rows: list[dict[str, Any]], index: int) -> Any:
        arrow_type, read = self._schema.types[index], self._readers[index]
        return pa.array([read(row) for row in rows], arrow_type)


def _parsed_type(arrow_type: Any) -> Any:
    """What Arrow parses a value into; None where it has no way."""
    if any(matches(arrow_type) for matches in _NO_WAY):
        return None
    if pa.types.is_date(arrow_type):
        return pa.string()
    if pa.types.is_list(arrow_type):
        inner = _parsed_type(arrow_type.value_type)
        return pa.list_(inner) if inner == arrow_type.value_type else None
    if pa.types.is_struct(arrow_type):
        return arrow_type if all(_parsed_type(each.type) == each.type for each in arrow_type) else None
    return arrow_type
