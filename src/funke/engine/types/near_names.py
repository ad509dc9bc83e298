"""What a mistyped name may have meant: of an option, a column, a table, a function, a command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest_name"]

_CLOSE = 0.7
# A name that is part of another one counts from this length on.
_WHOLE_PART = 6


def nearest_name(name: str, known: Iterable[str], closeness: float = _CLOSE, counts_parts: bool = True) -> str | None:
    """The known name that is most like an unknown one, whatever their case, or of which it is a part; None if none is.

    >>> nearest_name("formt", ["topic", "format"]), nearest_name("bootstrap.server", ["properties.bootstrap.servers"])
    ('format', 'properties.bootstrap.servers')
    """
    wanted, by_text = name.lower(), {each.lower(): each for each in sorted(known)}
    if wanted in by_text:
        return by_text[wanted] if by_text[wanted] != name else None
    found = [each for each in by_text if each.startswith(tuple(wanted + mark for mark in "-._"))][:1]
    found = found or difflib.get_close_matches(wanted, by_text, 1, closeness)
    if not found and counts_parts and len(wanted) >= _WHOLE_PART:
        found = sorted((each for each in by_text if wanted in each), key=len)
    return by_text[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], closeness: float = _CLOSE, begin: str = "; did") -> str:
    """The end of a message about an unknown name; nothing when no other is close.

    >>> did_you_mean("nme", ["name", "age"]), did_you_mean("x", ["name", "age"])
    ("; did you mean 'name'?", '')
    """
    meant = nearest_name(name, known, closeness)
    return "" if meant is None else f"{begin} you mean '{meant}'?"
