"""Files of JSON lines, one JSON value per line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from funke.engine.formats.json_format import JsonRowReader
from funke.engine.formats.line_format import LineFormat
from funke.engine.types import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation
from funke.engine.types.columns.arrow_rows import rows_from_columns
from funke.engine.types.information.basic_types import INTEGER_BITS

__all__ = ["JsonLinesFormat"]

_EXACT_CLASSES: dict[BasicType, set[type]] = {
    BasicType.STRING: {str},
    BasicType.DOUBLE: {float},
    BasicType.BOOLEAN: {bool},
}


@dataclass(frozen=True)
class JsonLinesFormat(LineFormat):
    """Without a row type records are what `json.loads` gives, mostly dicts; with one they are rows.

    Empty lines are skipped. With `ignores_errors` so are lines that are not JSON, and fields that do not fit are None.
    """

    row_type: RowTypeInfo | None = None
    ignores_errors: bool = False

    @property
    def produced_type(self) -> TypeInformation | None:
        """The row type, if there is one."""
        return self.row_type

    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the records of a chunk."""
        nodes = self._load([line for line in data.splitlines() if line and not line.isspace()])
        if self.row_type is None:
            return nodes
        columns = _fitting_columns(nodes, self.row_type)
        if columns is not None:
            return rows_from_columns(list(self.row_type.get_field_names()), columns)
        to_row = JsonRowReader(self.row_type, ignores_errors=self.ignores_errors)._row_reader(self.row_type)
        return [to_row(node) for node in nodes if isinstance(node, dict) or not self.ignores_errors]

    def _load(self, lines: list[bytes]) -> list[Any]:
        try:
            # One call for all lines takes half the time of a call for each.
            values: list[Any] = json.loads(b"[" + b",".join(lines) + b"]")
            if len(values) == len(lines):
                return values
        except ValueError:
            pass
        return [value for line in lines for value in self._load_line(line)]

    def _load_line(self, line: bytes) -> list[Any]:
        try:
            return [json.loads(line)]
        except ValueError as error:
            if self.ignores_errors:
                return []
            raise ValueError(f"a line is not JSON ({error}): {line[:80].decode('utf-8', 'replace')}") from None


def _fitting_columns(nodes: list[Any], row_type: RowTypeInfo) -> list[list[Any]] | None:
    """Return the fields as columns if all of them fit as they are: 0.46 M rows/s instead of 0.28 M one by one."""
    if set(map(type, nodes)) != {dict}:
        return None
    columns = []
    for name, field_type in zip(row_type.get_field_names(), row_type.get_field_types()):
        column = [node.get(name) for node in nodes]
        if not _fits(column, field_type):
            return None
        columns.append(column)
    return columns


def _fits(column: list[Any], field_type: TypeInformation) -> bool:
    if not isinstance(field_type, BasicTypeInfo):
        return False
    expected_types = (
        {int} if field_type.basic_type in INTEGER_BITS else _EXACT_CLASSES.get(field_type.basic_type, set())
    )
    if set(map(type, column)) - {type(None)} - expected_types:
        return False
    if expected_types != {int}:
        return True
    limit = 1 << (INTEGER_BITS[field_type.basic_type] - 1)
    numbers = [number for number in column if number is not None]
    return not numbers or (-limit <= min(numbers) and max(numbers) < limit)
