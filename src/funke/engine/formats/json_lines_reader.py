"""Files of JSON lines, one JSON value per line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from funke.engine.errors import TypeMismatchError
from funke.engine.formats.json_values import from_json_value
from funke.engine.formats.line_format import LineFormat
from funke.engine.types.composite_types import RowTypeInfo
from funke.engine.types.type_information import TypeInformation

__all__ = ["JsonLinesFormat"]


@dataclass(frozen=True)
class JsonLinesFormat(LineFormat):
    """Without a row type records are what `json.loads` gives, mostly dicts; with one they are rows.

    Empty lines are skipped, and with `ignores_errors` so are lines that are not JSON or do not fit the row type.
    """

    row_type: RowTypeInfo | None = None
    ignores_errors: bool = False

    @property
    def produced_type(self) -> TypeInformation | None:
        """The row type, if there is one."""
        return self.row_type

    def decode(self, data: bytes, is_first: bool) -> list[Any]:
        """Return the records of a chunk."""
        lines = [line for line in data.splitlines() if line and not line.isspace()]
        if self.row_type is None:
            return self._load(lines, {})
        # Only decimals need all the digits that a float does not keep; a parser of one's own is slower.
        options = {"parse_float": Decimal} if "BigDecimal" in repr(self.row_type) else {}
        return self._to_rows(self._load(lines, options), from_json_value(self.row_type))

    def _load(self, lines: list[bytes], options: dict[str, Any]) -> list[Any]:
        try:
            # One call for all lines takes half the time of a call for each.
            values: list[Any] = json.loads(b"[" + b",".join(lines) + b"]", **options)
            if len(values) == len(lines):
                return values
        except ValueError:
            pass
        loaded = (self._load_line(line, options) for line in lines)
        return [value for is_good, value in loaded if is_good]

    def _load_line(self, line: bytes, options: dict[str, Any]) -> tuple[bool, Any]:
        try:
            return True, json.loads(line, **options)
        except ValueError as error:
            if self.ignores_errors:
                return False, None
            shown = line[:80].decode("utf-8", "replace")
            raise ValueError(f"a line is not JSON ({error}): {shown}") from None

    def _to_rows(self, values: list[Any], to_row: Callable[[Any], Any]) -> list[Any]:
        try:
            return [to_row(value) for value in values]
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            rows = (self._to_row(value, to_row) for value in values)
            return [row for is_good, row in rows if is_good]

    def _to_row(self, value: Any, to_row: Callable[[Any], Any]) -> tuple[bool, Any]:
        try:
            return True, to_row(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError, TypeMismatchError) as error:
            if self.ignores_errors:
                return False, None
            shown = json.dumps(value, default=str)[:80]
            raise ValueError(f"a line does not fit {self.row_type} ({error}): {shown}") from None
