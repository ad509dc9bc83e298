"""Columns as lines of JSON, as Flink's json format writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.formats.table.table_writer import LineFileWriter
from funke.engine.sql.connectors.formats.value_writers import ValueText, plain_text, timestamp_texts
from funke.engine.sql.functions.values import to_values
from funke.engine.types.logical import (
    INTEGRAL,
    ArrayType,
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    MultisetType,
    RowType,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.logical import DataType, RowField

__all__ = ["JsonLines"]


@dataclass(frozen=True)
class JsonLines(LineFileWriter):
    """`null_keys` says what is done with keys of maps that are NULL: FAIL, DROP or LITERAL."""

    fields: tuple[RowField, ...]
    is_iso: bool = False
    has_plain_decimals: bool = False
    ignores_nulls: bool = False
    null_keys: str = "FAIL"
    null_key_literal: str = "null"

    def __post_init__(self) -> None:
        # Refuses types that have no form here before there are rows.
        for each in self.fields:
            self._writer(each.data_type)

    def pieces(self, batch: pa.RecordBatch, kinds: Any = None) -> list[bytes]:
        cells = [self._cells(column, each) for column, each in zip(batch.columns, self.fields)]
        if self.ignores_nulls:
            return [f"{{{','.join(filter(None, row))}}}\n".encode() for row in zip(*cells)]
        return [f"{{{','.join(row)}}}\n".encode() for row in zip(*cells)]

    @property
    def _separator(self) -> str:
        """Between day and time."""
        return "T" if self.is_iso else " "

    def _cells(self, column: pa.Array, field: RowField) -> list[str]:
        """What each object has of a column: a column at a time takes half as long as a row at a time."""
        name, write = f"{_text(field.name)}:", self._writer(field.data_type)
        values: list[Any] | None = timestamp_texts(column, field.data_type, self._separator)
        if values is None:
            values = to_values(column, field.data_type)
        else:
            write = _quoted
        if not column.null_count:
            return [name + write(value) for value in values]
        nothing = "" if self.ignores_nulls else f"{name}null"
        return [nothing if value is None else name + write(value) for value in values]

    def _fields_writer(self, fields: list[tuple[str, DataType]]) -> Callable[[Any], str]:
        named = [(f"{_text(name)}:", self._writer(data_type)) for name, data_type in fields]
        ignores_nulls = self.ignores_nulls

        def write(row: Any) -> str:
            pairs = zip(named, row, strict=True)
            cells = [
                name + ("null" if value is None else to_text(value))
                for (name, to_text), value in pairs
                if value is not None or not ignores_nulls
            ]
            return f"{{{','.join(cells)}}}"

        return write

    def _or_null(self, data_type: DataType) -> ValueText:
        write = self._writer(data_type)
        return lambda value: "null" if value is None else write(value)

    def _writer(self, data_type: DataType) -> ValueText:
        if isinstance(data_type, RowType):
            return self._fields_writer([(each.name, each.data_type) for each in data_type])
        if isinstance(data_type, ArrayType):
            element = self._or_null(data_type.element_type)
            return lambda values: f"[{','.join(map(element, values))}]"
        if isinstance(data_type, (MapType, MultisetType)):
            return self._map_writer(data_type)
        if isinstance(data_type, DecimalType) and self.has_plain_decimals:
            return lambda value: format(value, "f")
        plain = plain_text(data_type, self._separator)
        if plain is None:
            return str if isinstance(data_type, INTEGRAL) else _text
        if isinstance(data_type, (FloatType, DoubleType)):
            return lambda value: plain(value) if math.isfinite(value) else _text(plain(value))
        if isinstance(data_type, (BooleanType, DecimalType)):
            return plain
        return lambda value: _text(plain(value))

    def _map_writer(self, data_type: MapType | MultisetType) -> ValueText:
        write = self._or_null(data_type.value_type) if isinstance(data_type, MapType) else str

        def write_entries(entries: dict[Any, Any]) -> str:
            named = ((self._key(key), value) for key, value in entries.items())
            return f"{{{','.join(f'{_text(key)}:{write(value)}' for key, value in named if key is not None)}}}"

        return write_entries

    def _key(self, key: Any) -> str | None:
        if key is not None:
            return str(key)
        if self.null_keys == "FAIL":
            raise ValueError(
                "JSON format doesn't support to serialize map data with null keys. You can drop null key entries or "
                "encode null in literals by specifying 'json.map-null-key.mode' option."
            )
        return self.null_key_literal if self.null_keys == "LITERAL" else None


# Not json.dumps: what that makes anew for each text takes ten times as long as the text.
_text: Callable[[str], str] = json.encoder.encode_basestring


def _quoted(text: str) -> str:
    return f'"{text}"'
