"""Values of tables from JSON that was parsed already, as Flink's json format reads them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from funke.engine.formats.table.text_cells import cell_reader, fitted_decimal
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical import (
    CHARACTER,
    INTEGRAL,
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from funke.engine.types.number_text import double_text

__all__ = ["JsonNodes"]

NodeReader = Callable[[Any], Any]


class JsonNodes:
    """Makes readers. Numbers with a fraction come as Decimals, so that none of their digits is lost."""

    def __init__(self, fails_on_missing: bool, ignores_errors: bool, is_iso: bool) -> None:
        self._fails_on_missing = fails_on_missing
        self._ignores_errors = ignores_errors
        self._is_iso = is_iso

    def field_reader(self, name: str, data_type: DataType) -> Callable[[dict[str, Any]], Any]:
        """Return what reads a field of an object."""
        read = self.reader(data_type)

        def read_field(node: dict[str, Any]) -> Any:
            if name not in node and self._fails_on_missing:
                raise ValueError(f"Could not find field with name '{name}'.")
            try:
                return read(node.get(name))
            except (ValueError, ArithmeticError) as error:
                raise ValueError(f"Fail to deserialize at field: {name}. {error}") from None

        return read_field

    def reader(self, data_type: DataType) -> NodeReader:
        """Return what reads values of a type; null is NULL, and so are errors that are to be ignored."""
        read = self._reader(data_type)

        def read_or_null(node: Any) -> Any:
            if node is None:
                return None
            try:
                return read(node)
            except (ValueError, ArithmeticError):
                if self._ignores_errors:
                    return None
                raise

        return read_or_null

    def _reader(self, data_type: DataType) -> NodeReader:
        if isinstance(data_type, CHARACTER):
            return _text
        if isinstance(data_type, BooleanType):
            return lambda node: node if isinstance(node, bool) else _text(node).strip().lower() == "true"
        if isinstance(data_type, RowType):
            return self._row_reader(data_type)
        if isinstance(data_type, ArrayType):
            element = self.reader(data_type.element_type)
            return lambda node: [element(each) for each in _require(node, list)]
        if isinstance(data_type, (MapType, MultisetType)):
            return self._map_reader(data_type)
        return self._plain_reader(data_type)

    def _plain_reader(self, data_type: DataType) -> NodeReader:
        read = cell_reader(data_type)
        if isinstance(data_type, INTEGRAL):
            return lambda node: read(str(int(node)) if isinstance(node, Decimal) else _text(node))
        if isinstance(data_type, DecimalType):
            precision, scale = data_type.precision, data_type.scale
            return lambda node: (
                fitted_decimal(node, precision, scale) if isinstance(node, Decimal) else read(_text(node))
            )
        if isinstance(data_type, FloatType):
            return lambda node: round_to_float32(float(node)) if _is_number(node) else read(_text(node))
        if isinstance(data_type, DoubleType):
            return lambda node: float(node) if _is_number(node) else read(_text(node))
        if isinstance(data_type, (TimestampType, LocalZonedTimestampType)) and self._is_iso:
            return lambda node: read(_from_iso(_text(node)))
        return lambda node: read(_text(node))

    def _row_reader(self, data_type: RowType) -> NodeReader:
        readers = [(each.name, self.field_reader(each.name, each.data_type)) for each in data_type]
        return lambda node: {name: read(_require(node, dict)) for name, read in readers}

    def _map_reader(self, data_type: Any) -> NodeReader:
        is_map = isinstance(data_type, MapType)
        key = self.reader(data_type.key_type if is_map else data_type.element_type)
        value = self.reader(data_type.value_type) if is_map else int
        return lambda node: [(key(name), value(each)) for name, each in _require(node, dict).items()]


def _is_number(node: Any) -> bool:
    return isinstance(node, (int, Decimal)) and not isinstance(node, bool)


def _require(node: Any, kind: type) -> Any:
    if not isinstance(node, kind):
        raise ValueError(f"{'an object' if kind is dict else 'an array'} was expected, got {_text(node)}")
    return node


def _text(node: Any) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, Decimal):
        return double_text(float(node))
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False, default=float)


def _from_iso(text: str) -> str:
    if text[10:11] != "T":
        raise ValueError(f"Text '{text}' could not be parsed as a timestamp like {datetime.datetime.min.isoformat()}")
    return text.replace("T", " ", 1)
