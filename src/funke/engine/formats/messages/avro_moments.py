"""Moments of Avro as numbers: making a date and time of each takes longer than reading the rest of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.types.logical.time_types import LocalZonedTimestampType, TimestampType

if TYPE_CHECKING:
    from funke.engine.types.logical.row_type import RowField

__all__ = ["in_micros", "with_plain_moments"]

_MICROS = {"millis": 1000, "micros": 1}
Moments = tuple[tuple[str, int], ...]


def with_plain_moments(schema: Any, columns: Sequence[RowField]) -> tuple[Any, Moments]:
    """The schema of a record with plain numbers for moments, and by name how many microseconds their unit has.

    Only those that become moments of the table.
    """
    wanted = {each.name for each in columns if isinstance(each.data_type, (TimestampType, LocalZonedTimestampType))}
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return schema, ()
    units = {each["name"]: _unit(each["type"]) for each in schema["fields"] if each["name"] in wanted}
    moments = tuple((name, unit) for name, unit in units.items() if unit is not None)
    plain = dict(moments)
    fields = [{**each, "type": _plain(each["type"])} if each["name"] in plain else each for each in schema["fields"]]
    return {**schema, "fields": fields}, moments


def in_micros(record: dict[str, Any], moments: Moments) -> dict[str, Any]:
    """Brings the moments of a record to microseconds, which is what a number stands for in a column of them."""
    for name, unit in moments:
        if record[name] is not None:
            record[name] *= unit
    return record


def _unit(kind: Any) -> int | None:
    """Of a type that is a moment, or a union with one; None for others."""
    units = [_unit(each) for each in kind] if isinstance(kind, list) else [_own_unit(kind)]
    found = {unit for unit in units if unit is not None}
    # A union of two kinds of moments does not tell which one a number is.
    return found.pop() if len(found) == 1 else None


def _own_unit(kind: Any) -> int | None:
    if not isinstance(kind, dict) or kind.get("type") != "long":
        return None
    _, is_moment, unit = str(kind.get("logicalType", "")).rpartition("timestamp-")
    return _MICROS.get(unit) if is_moment else None


def _plain(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_plain(each) for each in kind]
    return "long" if _own_unit(kind) is not None else kind
