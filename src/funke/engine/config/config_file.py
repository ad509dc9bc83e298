"""Reads Flink's configuration files: `flink-conf.yaml` with its flat keys, `config.yaml` with nested ones.

Only what such files use of YAML is understood: mappings by indentation, lists of dashes, comments, quotes.
"""

from __future__ import annotations

import re
from typing import Any

from funke.engine.errors import ConfigurationError

__all__ = ["read_config_file"]

_COMMENT = re.compile(r"(^|\s)#.*$")


def read_config_file(text: str, path: str = "configuration") -> dict[str, Any]:
    """Return the values by their full key.

    >>> read_config_file("parallelism:\\n  default: 4\\nstate.backend.type: rocksdb")
    {'parallelism.default': '4', 'state.backend.type': 'rocksdb'}
    """
    values: dict[str, Any] = {}
    parents: list[tuple[int, str]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub("", raw).rstrip()
        content = line.strip()
        if not content or content == "---":
            continue
        indent = len(line) - len(line.lstrip())
        while parents and parents[-1][0] >= indent and not (content.startswith("- ") and parents[-1][0] == indent):
            parents.pop()
        if content.startswith("- "):
            _append(values, parents, content[2:], path, number)
            continue
        key, colon, value = content.partition(":")
        if not colon:
            raise ConfigurationError(f"{path}:{number}: expected 'key: value', got {content!r}")
        full = ".".join([*(name for _, name in parents), _unquoted(key)])
        if value.strip():
            values[full] = _unquoted(value)
        parents.append((indent, _unquoted(key)))
    return values


def _append(values: dict[str, Any], parents: list[tuple[int, str]], item: str, path: str, number: int) -> None:
    if not parents:
        raise ConfigurationError(f"{path}:{number}: a list item needs a key above it")
    key = ".".join(name for _, name in parents)
    values.setdefault(key, []).append(_unquoted(item))


def _unquoted(text: str) -> str:
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text
