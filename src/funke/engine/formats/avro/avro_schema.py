"""Avro schemas as JSON values: checking them, and what of them Python code sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from funke.engine.errors import ConfigurationError

__all__ = [
    "branches_of",
    "checked",
    "defined",
    "is_record",
    "kind_of",
    "logical_kind_of",
    "named_types",
    "seen_by_python",
]

# The logical types for which PyFlink's Python side makes objects; values of others are those of the type beneath.
_KNOWN_TO_PYTHON = {"date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "decimal"}


def checked(schema: Any) -> Any:
    """Return a schema, given as JSON text or as what JSON text stands for, after a check."""
    import fastavro
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        value = json.loads(schema) if isinstance(schema, str) and schema.lstrip()[:1] in ("{", "[", '"') else schema
        fastavro.parse_schema(deepcopy(value))
        _check_records(value)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"the Avro schema is not valid JSON: {error}") from error
    except (SchemaParseException, UnknownType, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(f"the Avro schema is not valid: {type(error).__name__}: {error}") from error
    return value


def _check_records(schema: Any) -> None:
    # fastavro takes a record without fields, and fails when it meets one.
    for name, each, _ in _definitions(schema, ""):
        if is_record(each) and not isinstance(each.get("fields"), list):
            raise ValueError(f"record {name} has no list of fields")


def seen_by_python(schema: Any) -> Any:
    """Return the schema without the logical types that PyFlink's Python side does not know."""
    if isinstance(schema, list):
        return [seen_by_python(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    seen = {
        key: seen_by_python(value) if key in ("type", "items", "values") else value for key, value in schema.items()
    }
    if "fields" in seen:
        seen["fields"] = [{**field, "type": seen_by_python(field["type"])} for field in seen["fields"]]
    if seen.get("logicalType") not in _KNOWN_TO_PYTHON:
        seen.pop("logicalType", None)
    return seen


def kind_of(schema: Any) -> str:
    """Return the name of the type: `record`, `int`, `union`, or the name of a type that is defined elsewhere."""
    if isinstance(schema, list):
        return "union"
    kind = schema["type"] if isinstance(schema, dict) else schema
    return kind if isinstance(kind, str) else kind_of(kind)


def logical_kind_of(schema: Any) -> str | None:
    """Return the logical type, if there is one."""
    return schema.get("logicalType") if isinstance(schema, dict) else None


def is_record(schema: Any) -> bool:
    """Whether values are records."""
    return kind_of(schema) in ("record", "error")


def branches_of(schema: Any) -> list[Any]:
    """Return the branches of a union that are not null; a type by itself is its only branch."""
    return [branch for branch in (schema if isinstance(schema, list) else [schema]) if kind_of(branch) != "null"]


def defined(schema: Any, names: dict[str, Any]) -> Any:
    """Return what a name stands for; anything else as it is."""
    if isinstance(schema, dict) and not isinstance(schema["type"], str):
        return defined(schema["type"], names)
    return names.get(schema, schema) if isinstance(schema, str) else schema


def named_types(schema: Any, namespace: str = "") -> dict[str, Any]:
    """Return the records, enums and fixed types that a schema defines, by their name and by their full name."""
    types: dict[str, Any] = {}
    for name, each, space in _definitions(schema, namespace):
        types[name] = each
        types[f"{space}.{name}" if space else name] = each
    return types


def _definitions(schema: Any, namespace: str) -> Iterator[tuple[str, Any, str]]:
    if isinstance(schema, list):
        for branch in schema:
            yield from _definitions(branch, namespace)
    if not isinstance(schema, dict):
        return
    if "name" in schema:
        space, _, name = schema["name"].rpartition(".")
        namespace = space or schema.get("namespace", namespace)
        yield name, schema, namespace
    inner = [field["type"] for field in schema.get("fields", ())]
    for each in (*inner, schema.get("items"), schema.get("values"), schema.get("type")):
        yield from _definitions(each, namespace)
