"""Names with their catalog and database, as texts: `f`, `db.f`, `cat.db.f`, with back quotes around odd parts."""

from __future__ import annotations

import re

from funke.engine.errors import ConfigurationError, at_user_line

__all__ = ["format_path", "parse_path"]

_PART = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^`.\s][^`.]*?))\s*(\.|$)")


def parse_path(text: str) -> tuple[str, ...]:
    """Return the parts of a path, at most three.

    >>> parse_path("cat.`my db`.f")
    ('cat', 'my db', 'f')
    """
    parts: list[str] = []
    position, has_more = 0, True
    while has_more:
        match = _PART.match(text, position)
        if match is None:
            raise ConfigurationError(at_user_line(f"Invalid SQL identifier {text}."))
        quoted, plain, separator = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        position, has_more = match.end(), separator == "."
    if len(parts) > 3:
        raise ConfigurationError(
            at_user_line(f"{text} has {len(parts)} parts; a path has a catalog, a database, a name")
        )
    return tuple(parts)


def format_path(parts: tuple[str, ...]) -> str:
    """Return a path with back quotes around each part."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)
