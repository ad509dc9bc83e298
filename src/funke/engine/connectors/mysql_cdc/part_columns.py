"""Parts of tables as columns in the types that are natural for them, by the texts that SELECT gives."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.mysql_cdc.settings import MySqlColumn

__all__ = ["INTEGERS", "cell_text", "selected_column"]

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_BINARIES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")
_MOST_DIGITS = 38


def cell_text(column: MySqlColumn) -> str:
    """What is asked for: the server would round numbers of 32 bits, and send bits as bytes."""
    return {"float": "{} * 1e0", "bit": "{} + 0"}.get(column.kind, "{}").format(quote(column.name))


def selected_column(column: MySqlColumn, values: Any) -> Any:
    """The column of what the server sends, which are texts but for bytes."""
    if column.kind in _BINARIES:
        return values
    strings = values.cast(pa.string())
    read = _READERS.get(column.kind)
    return strings if read is None else read(strings, column)


def _integers(strings: Any, column: MySqlColumn) -> Any:
    return strings.cast(pa.uint64() if column.is_unsigned else pa.int64())


def _decimals(strings: Any, column: MySqlColumn) -> Any:
    digits = max((len(text) for text in strings.to_pylist() if text is not None), default=1)
    # With a sign, a point, and perhaps a zero in front.
    return strings.cast(pa.decimal128(_MOST_DIGITS, column.digits)) if digits <= _MOST_DIGITS else strings


def _dates(strings: Any, column: MySqlColumn) -> Any:
    return _or_none(strings, pa.date32(), datetime.date.fromisoformat)


def _timestamps(strings: Any, column: MySqlColumn) -> Any:
    return _or_none(strings, pa.timestamp("us"), _timestamp)


def _timestamp(text: str) -> datetime.datetime:
    whole, _, fraction = text.partition(".")
    return datetime.datetime.fromisoformat(whole).replace(microsecond=int(fraction.ljust(6, "0") or 0))


def _or_none(strings: Any, arrow_type: Any, read: Callable[[str], Any]) -> Any:
    """Dates that are in no calendar, with zeros for parts of them, are none."""
    if not pc.any(pc.starts_with(strings, "0000")).as_py():
        try:
            return strings.cast(arrow_type)
        except pa.ArrowInvalid:
            pass

    def value(text: str | None) -> Any:
        try:
            return None if text is None else read(text)
        except ValueError:
            return None

    return pa.array([value(text) for text in strings.to_pylist()], arrow_type)


def _times(strings: Any, column: MySqlColumn) -> Any:
    return pa.array([None if text is None else _micros(text) for text in strings.to_pylist()], pa.int64())


def _micros(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time")
    sign, hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return -micros if sign else micros


_READERS: dict[str, Callable[[Any, MySqlColumn], Any]] = {
    **dict.fromkeys(INTEGERS, _integers),
    "year": lambda strings, column: strings.cast(pa.int64()),
    "bit": lambda strings, column: strings.cast(pa.uint64()),
    "float": lambda strings, column: strings.cast(pa.float64()).cast(pa.float32()),
    "double": lambda strings, column: strings.cast(pa.float64()),
    "decimal": _decimals,
    "date": _dates,
    "datetime": _timestamps,
    "timestamp": _timestamps,
    "time": _times,
}
