"""What messages about changes tell beside the rows: where the change was made, and when. Keys and types are Flink's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.types.logical import DataTypes, RowField

if TYPE_CHECKING:
    from funke.engine.types.logical import DataType

__all__ = ["CANAL", "DEBEZIUM", "MAXWELL", "OGG", "ChangeMetadata"]


def _as_it_is(column: Any) -> Any:
    return column


def _timestamps(milliseconds: Any) -> Any:
    return milliseconds.cast(pa.timestamp("ms", "UTC"))


@dataclass(frozen=True)
class ChangeMetadata:
    """One of them: its type, the field of the message that it comes from, and what is made of that."""

    type: DataType
    source: RowField
    column: Callable[[Any], Any] = _as_it_is


_TEXT, _NUMBER = DataTypes.STRING(), DataTypes.BIGINT()
_STRINGS = DataTypes.ARRAY(DataTypes.STRING())
_TIMESTAMP, _FINE_TIMESTAMP = DataTypes.TIMESTAMP_LTZ(3), DataTypes.TIMESTAMP_LTZ(6)
_PROPERTIES = DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING())


def _same(name: str, kind: DataType) -> ChangeMetadata:
    return ChangeMetadata(kind, RowField(name, kind))


def _timestamp(name: str) -> ChangeMetadata:
    return ChangeMetadata(_TIMESTAMP, RowField(name, _NUMBER), _timestamps)


def _of_source(name: str) -> Callable[[Any], Any]:
    return lambda source: pc.map_lookup(source, pa.scalar(name), "first")


def _source_timestamps(source: Any) -> Any:
    return _timestamps(_of_source("ts_ms")(source).cast(pa.int64()))


def _written_timestamps(strings: Any) -> Any:
    """GoldenGate writes them with a blank or a T, and without a zone."""
    return pc.replace_substring_regex(strings, "Z$", "").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))


def _source(kind: DataType, make: Callable[[Any], Any]) -> ChangeMetadata:
    return ChangeMetadata(kind, RowField("source", _PROPERTIES), make)


DEBEZIUM: Mapping[str, ChangeMetadata] = {
    "schema": _same("schema", _TEXT),
    "ingestion-timestamp": _timestamp("ts_ms"),
    "source.timestamp": _source(_TIMESTAMP, _source_timestamps),
    "source.database": _source(_TEXT, _of_source("db")),
    "source.schema": _source(_TEXT, _of_source("schema")),
    "source.table": _source(_TEXT, _of_source("table")),
    "source.properties": _source(_PROPERTIES, _as_it_is),
}
CANAL: Mapping[str, ChangeMetadata] = {
    "database": _same("database", _TEXT),
    "table": _same("table", _TEXT),
    "sql-type": _same("sqlType", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
    "pk-names": _same("pkNames", _STRINGS),
    "ingestion-timestamp": _timestamp("ts"),
    "event-timestamp": _timestamp("es"),
}
MAXWELL: Mapping[str, ChangeMetadata] = {
    "database": _same("database", _TEXT),
    "table": _same("table", _TEXT),
    "primary-key-columns": _same("primary_key_columns", _STRINGS),
    "ingestion-timestamp": _timestamp("ts"),
}
OGG: Mapping[str, ChangeMetadata] = {
    "table": _same("table", _TEXT),
    "primary-keys": _same("primary_keys", _STRINGS),
    "ingestion-timestamp": ChangeMetadata(_FINE_TIMESTAMP, RowField("current_ts", _TEXT), _written_timestamps),
    "event-timestamp": ChangeMetadata(_FINE_TIMESTAMP, RowField("op_ts", _TEXT), _written_timestamps),
}
