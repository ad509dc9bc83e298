"""JSON Schema as a row type, with the rules of Flink's converter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from funke.engine.errors import ConfigurationError
from funke.engine.types import TypeInformation, Types

__all__ = ["type_from_json_schema"]

_STRING_FORMATS: dict[str, Callable[[], TypeInformation]] = {
    "date-time": Types.SQL_TIMESTAMP,
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
}


def type_from_json_schema(json_schema: str) -> TypeInformation:
    """Return the type that a JSON Schema describes.

    >>> type_from_json_schema('{"type": "object", "properties": {"a": {"type": "boolean"}}}')
    RowTypeInfo(a: Boolean)
    """
    try:
        root = json.loads(json_schema)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"the JSON schema is not valid JSON: {error}") from error
    return _Converter(root).convert(root, "<root>")


class _Converter:
    """Converts the nodes of one schema, whose root local references point into."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def convert(self, node: Any, path: str) -> TypeInformation:
        if not isinstance(node, dict):
            raise ConfigurationError(f"an object was expected in the JSON schema at {path}, got {node!r}")
        if "$ref" in node:
            return self.convert(self._resolve(node["$ref"], path), path)
        if "oneOf" in node:
            return self._convert_alternatives(node["oneOf"], path)
        if "type" not in node:
            raise ConfigurationError(f"no type could be found in the JSON schema at {path}")
        return self._convert_type(node, self._single_type(node["type"], path), path)

    def _single_type(self, declared: Any, path: str) -> str:
        names = [name for name in declared if name != "null"] if isinstance(declared, list) else [declared]
        if len(names) != 1:
            raise ConfigurationError(f"a union of several types is not supported in the JSON schema at {path}")
        return str(names[0])

    def _convert_alternatives(self, alternatives: list[Any], path: str) -> TypeInformation:
        types = [node for node in alternatives if not (isinstance(node, dict) and node.get("type") == "null")]
        if len(types) != 1:
            raise ConfigurationError(f"a union of several types is not supported in the JSON schema at {path}")
        return self.convert(types[0], f"{path}/oneOf")

    def _convert_type(self, node: dict[str, Any], name: str, path: str) -> TypeInformation:
        if name == "object":
            return self._convert_object(node, path)
        if name == "array":
            return self._convert_array(node, path)
        if name == "string":
            return _convert_string(node)
        if name in ("number", "integer"):
            return Types.BIG_DEC()
        if name == "boolean":
            return Types.BOOLEAN()
        raise ConfigurationError(f"type '{name}' is not supported in the JSON schema at {path}")

    def _convert_object(self, node: dict[str, Any], path: str) -> TypeInformation:
        properties: dict[str, Any] = node.get("properties", {})
        types = [self.convert(each, f"{path}/{name}") for name, each in properties.items()]
        return Types.ROW_NAMED(list(properties), types)

    def _convert_array(self, node: dict[str, Any], path: str) -> TypeInformation:
        items = node.get("items")
        if isinstance(items, list):
            return Types.ROW([self.convert(each, f"{path}/items[{i}]") for i, each in enumerate(items)])
        return Types.OBJECT_ARRAY(self.convert(items, f"{path}/items"))

    def _resolve(self, reference: str, path: str) -> Any:
        if not reference.startswith("#"):
            raise ConfigurationError(f"only references within the schema are supported, got '{reference}' at {path}")
        node = self._root
        for part in reference.lstrip("#").strip("/").split("/"):
            if not isinstance(node, dict) or part not in node:
                raise ConfigurationError(f"the reference '{reference}' at {path} points nowhere")
            node = node[part]
        return node


def _convert_string(node: dict[str, Any]) -> TypeInformation:
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _STRING_FORMATS.get(node.get("format", ""), Types.STRING)()
