"""What answers look like, written down as an example with types for values; the OpenAPI document follows from it.

>>> to_schema({"jobs": [{"id": str, "end-time": int}]})["properties"]["jobs"]["items"]["required"]
['id', 'end-time']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ANY", "AtLeast", "MapOf", "OneOf", "Optional", "Text", "to_schema"]

_PRIMITIVES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True)
class MapOf:
    """An object whose keys are not known beforehand."""

    value: Any


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Optional:
    """May be null, or missing."""

    value: Any


@dataclass(frozen=True)
class Text:
    """A text that fits a regular expression."""

    pattern: str


@dataclass(frozen=True)
class AtLeast:
    """A whole number."""

    least: int


ANY = MapOf(None)


def to_schema(shape: Any) -> dict[str, Any]:
    """The JSON schema of a shape."""
    if shape is None:
        return {}
    if isinstance(shape, type):
        return {"type": _PRIMITIVES[shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": to_schema(shape[0])}
    if isinstance(shape, MapOf):
        return {"type": "object", "additionalProperties": to_schema(shape.value)}
    if isinstance(shape, OneOf):
        return {"type": "string", "enum": list(shape.words)}
    if isinstance(shape, Text):
        return {"type": "string", "pattern": shape.pattern}
    if isinstance(shape, AtLeast):
        return {"type": "integer", "minimum": shape.least, "maximum": 10**18 - 1}
    if isinstance(shape, Optional):
        inner = to_schema(shape.value)
        # Null is one of the words then.
        return {"nullable": True, **inner, **({"enum": [*inner["enum"], None]} if "enum" in inner else {})}
    required = [key for key, each in shape.items() if not isinstance(each, Optional)]
    return {
        "type": "object",
        "properties": {key: to_schema(each) for key, each in shape.items()},
        **({"required": required} if required else {}),
    }
