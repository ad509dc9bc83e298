"""What a mistyped name may have meant: of an option, a column, a table, a function, a command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest_name"]

_CLOSE = 0.7
# A name that is part of another one counts from this length on.
_WHOLE_PART = 6


def nearest_name(name: str, names: Iterable[str], closeness: float = _CLOSE, counts_parts: bool = True) -> str | None:
    """The known name that is most like an unknown one, whatever their case, or of which it is a part; None if none is.

    >>> nearest_name("formt", ["topic", "format"]), nearest_name("bootstrap.server", ["properties.bootstrap.servers"])
    ('format', 'properties.bootstrap.servers')
    """
    lower_name, by_text = name.lower(), {each.lower(): each for each in sorted(names)}
    if lower_name in by_text:
        return by_text[lower_name] if by_text[lower_name] != name else None
    similar = [each for each in by_text if each.startswith(tuple(lower_name + mark for mark in "-._"))][:1]
    similar = similar or difflib.get_close_matches(lower_name, by_text, 1, closeness)
    if not similar and counts_parts and len(lower_name) >= _WHOLE_PART:
        similar = sorted((each for each in by_text if lower_name in each), key=len)
    return by_text[similar[0]] if similar else None


def did_you_mean(name: str, names: Iterable[str], closeness: float = _CLOSE, begin: str = "; did") -> str:
    """The end of a message about an unknown name; nothing when no other is close.

    >>> did_you_mean("nme", ["name", "age"]), did_you_mean("x", ["name", "age"])
    ("; did you mean 'name'?", '')
    """
    meant = nearest_name(name, names, closeness)
    return "" if meant is None else f"{begin} you mean '{meant}'?"
