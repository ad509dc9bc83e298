"""Timestamps of Avro as numbers: making a date and time of each takes longer than reading the rest of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.types.logical import LocalZonedTimestampType, TimestampType

if TYPE_CHECKING:
    from funke.engine.types.logical import RowField

__all__ = ["in_micros", "with_plain_timestamps"]

_MICROS = {"millis": 1000, "micros": 1}
Timestamps = tuple[tuple[str, int], ...]


def with_plain_timestamps(schema: Any, columns: Sequence[RowField]) -> tuple[Any, Timestamps]:
    """The schema of a record with plain numbers for timestamps, and by name how many microseconds their unit has.

    Only those that become timestamps of the table.
    """
    names = {each.name for each in columns if isinstance(each.data_type, (TimestampType, LocalZonedTimestampType))}
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return schema, ()
    units = {each["name"]: _unit(each["type"]) for each in schema["fields"] if each["name"] in names}
    timestamps = tuple((name, unit) for name, unit in units.items() if unit is not None)
    plain = dict(timestamps)
    fields = [{**each, "type": _plain(each["type"])} if each["name"] in plain else each for each in schema["fields"]]
    return {**schema, "fields": fields}, timestamps


def in_micros(record: dict[str, Any], timestamps: Timestamps) -> dict[str, Any]:
    """Brings the timestamps of a record to microseconds, which is what a number stands for in a column of them."""
    for name, unit in timestamps:
        if record[name] is not None:
            record[name] *= unit
    return record


def _unit(kind: Any) -> int | None:
    """Of a type that is a timestamp, or a union with one; None for others."""
    units = [_unit(each) for each in kind] if isinstance(kind, list) else [_own_unit(kind)]
    known_units = {unit for unit in units if unit is not None}
    # A union of two kinds of timestamps does not tell which one a number is.
    return known_units.pop() if len(known_units) == 1 else None


def _own_unit(kind: Any) -> int | None:
    if not isinstance(kind, dict) or kind.get("type") != "long":
        return None
    _, is_timestamp, unit = str(kind.get("logicalType", "")).rpartition("timestamp-")
    return _MICROS.get(unit) if is_timestamp else None


def _plain(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_plain(each) for each in kind]
    return "long" if _own_unit(kind) is not None else kind
