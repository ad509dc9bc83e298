"""JSON Schema as a row type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.formats.json_schema import type_from_json_schema


def type_of(**properties: Any) -> str:
    schema = {"type": "object", "properties": properties, "definitions": {"flag": {"type": "boolean"}}}
    return repr(type_from_json_schema(json.dumps(schema)))


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "integer"}, "BigDecimal"),
        ({"type": "number"}, "BigDecimal"),
        ({"type": "string"}, "String"),
        ({"type": "boolean"}, "Boolean"),
        ({"type": ["string", "null"]}, "String"),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, "String"),
        ({"type": "string", "format": "date"}, "DateTypeInfo"),
        ({"type": "string", "format": "time"}, "TimeTypeInfo"),
        ({"type": "string", "format": "date-time"}, "TimestampTypeInfo"),
        ({"type": "string", "contentEncoding": "base64"}, "PrimitiveArrayTypeInfo<Byte>"),
        ({"$ref": "#/definitions/flag"}, "Boolean"),
        ({"type": "array", "items": {"type": "number"}}, "ObjectArrayTypeInfo<BigDecimal>"),
        ({"type": "array", "items": [{"type": "string"}, {"type": "boolean"}]}, "RowTypeInfo(String, Boolean)"),
        ({"type": "object", "properties": {"z": {"type": "string"}}}, "RowTypeInfo(z: String)"),
    ],
)
def test_types(field: dict[str, Any], expected: str) -> None:
    assert type_of(a=field) == f"RowTypeInfo(a: {expected})"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"enum": ["a"]}, "no type could be found in the JSON schema at <root>/a"),
        ({"type": ["string", "number"]}, "a union of several types"),
        ({"type": "strange"}, "type 'strange' is not supported"),
        ({"$ref": "#/definitions/none"}, "points nowhere"),
        ({"$ref": "other.json"}, "only references within the schema"),
        (5, "an object was expected"),
    ],
)
def test_what_cannot_be_converted_is_rejected(field: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        type_of(a=field)


def test_text_that_is_no_json_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="not valid JSON"):
        type_from_json_schema("{")
