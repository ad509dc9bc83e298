"""Type of Avro's records."""

from __future__ import annotations

import datetime
import json
from typing import Any

from funke.engine.types.information.type_information import TypeInformation

__all__ = ["AvroTypeInfo", "avro_text"]


class AvroTypeInfo(TypeInformation):
    """Type of dicts that follow an Avro schema, which is kept as JSON text."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroTypeInfo) and self.schema == other.schema

    __hash__ = TypeInformation.__hash__

    def __repr__(self) -> str:
        return f"GenericRecord({self.schema})"


def avro_text(record: Any) -> str:
    """Return the text of a record: JSON, as Avro's own records show themselves."""
    return json.dumps(record, ensure_ascii=False, default=_part_text)


def _part_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)
