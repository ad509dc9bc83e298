"""Finds the row schemas that earlier versions of Flink kept in ``common`` and later moved to ``datastream.formats``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["find_legacy_schema"]

_MODULES = {
    f"{prefix}Row{direction}Schema": f"funke.datastream.formats.{prefix.lower()}"
    for prefix in ("Json", "Csv", "Avro")
    for direction in ("Serialization", "Deserialization")
}


def find_legacy_schema(module: str, name: str) -> Any:
    """Return the schema of that name from its present module; imported on demand, since formats need ``common``."""
    if name not in _MODULES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
