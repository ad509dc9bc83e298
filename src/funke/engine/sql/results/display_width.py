"""The width of texts on a screen, and texts cut to a width: characters of East Asia take two columns."""

from __future__ import annotations

from unicodedata import east_asian_width

__all__ = ["display_width", "right_aligned", "truncated"]

_WIDE = ("W", "F")
_MARK = "..."


def display_width(text: str) -> int:
    """Return the columns that a text takes.

    >>> display_width("abc"), display_width("漢字")
    (3, 4)
    """
    return len(text) if text.isascii() else sum(_character_width(each) for each in text)


def truncated(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns; one that was longer ends with dots."""
    if display_width(text) <= width:
        return text
    kept, room = [], width - len(_MARK)
    for character in text:
        room -= _character_width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + _MARK


def right_aligned(text: str, width: int) -> str:
    """Return a text with spaces before it."""
    return " " * (width - display_width(text)) + text


def _character_width(character: str) -> int:
    return 2 if east_asian_width(character) in _WIDE else 1
