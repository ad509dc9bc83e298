"""Columns as lines of JSON, as Flink's json format writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.formats.table.table_writer import LineFileWriter
from funke.engine.sql.connectors.formats.value_writers import ValueText, plain_text, text_column, to_lines
from funke.engine.sql.functions.values import to_values
from funke.engine.types.logical import (
    CHARACTER,
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
    from funke.engine.types.logical import DataType, RowField

__all__ = ["JsonLines"]


@dataclass(frozen=True)
class JsonLines(LineFileWriter):
    """Rows as JSON objects. `null_keys` is FAIL, DROP or LITERAL, for keys of maps that are NULL."""

    fields: tuple[RowField, ...]
    is_iso: bool = False
    has_plain_decimals: bool = False
    ignores_nulls: bool = False
    null_keys: str = "FAIL"
    null_key_literal: str = "null"

    def __post_init__(self) -> None:
        # Rejects types that have no form here before there are rows.
        for each in self.fields:
            self._writer(each.data_type)

    def pieces(self, batch: pa.RecordBatch, kinds: Any = None) -> list[bytes]:
        if not batch.columns:
            return []
        named = [
            (f"{_text(each.name)}:", self._cells(column, each)) for column, each in zip(batch.columns, self.fields)
        ]
        if self.ignores_nulls:
            return to_lines(["{", _without_nulls(named), "}\n"])
        parts: list[pa.Array | str] = []
        for name, cells in named:
            parts += [f"{',' if parts else '{'}{name}", cells]
        return to_lines([*parts, "}\n"], "null")

    @property
    def _separator(self) -> str:
        """The character between day and time."""
        return "T" if self.is_iso else " "

    def _cells(self, column: pa.Array, field: RowField) -> pa.Array:
        """The texts of a column, NULL for NULL."""
        strings = text_column(column, field.data_type, self._separator)
        # A column is joined in Arrow unless one of its strings needs escapes; then Python writes the values one by one.
        if strings is None or (isinstance(field.data_type, CHARACTER) and pc.any(_is_escaped(strings)).as_py()):
            write = self._writer(field.data_type)
            values: list[Any] = to_values(column, field.data_type)
            return pa.array([None if value is None else write(value) for value in values], pa.large_string())
        if isinstance(field.data_type, (BooleanType, *INTEGRAL)):
            return strings
        return pc.binary_join_element_wise(_QUOTE, strings, _QUOTE, _NOTHING)

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
            # JSON has no NaN: it is a string, as Jackson writes it.
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


# Not json.dumps, which makes an encoder for each text: that takes ten times as long as the text.
_text: Callable[[str], str] = json.encoder.encode_basestring


_NOTHING, _QUOTE = (pa.scalar(each, pa.large_string()) for each in ("", '"'))


def _is_escaped(strings: pa.Array) -> pa.Array:
    """Whether texts have characters that `_text` writes in another way."""
    return pc.match_substring_regex(strings, r'["\\\x00-\x1f]')


def _without_nulls(named: list[tuple[str, pa.Array]]) -> pa.Array:
    """The fields of each row that are not NULL, with their names."""
    fields = [
        pc.binary_join_element_wise(pa.scalar(f",{name}", pa.large_string()), each, _NOTHING) for name, each in named
    ]
    # Not by skipping: where all are NULL, pyarrow 26 skips the row.
    joined = pc.binary_join_element_wise(*fields, _NOTHING, null_handling="replace", null_replacement="")
    return pc.utf8_ltrim(joined, ",")
