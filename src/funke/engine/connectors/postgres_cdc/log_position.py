"""Positions in PostgreSQL's log."""

from __future__ import annotations

__all__ = ["from_text", "record_boundary", "to_text"]

_PAGE_BYTES = 8192
_LONGEST_PAGE_HEADER = 40


def from_text(text: str) -> int:
    """The position that PostgreSQL writes so.

    >>> hex(from_text("16/B374D848"))
    '0x16b374d848'
    """
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def to_text(position: int) -> str:
    """The position as PostgreSQL writes it.

    >>> to_text(0x16B374D848)
    '16/B374D848'
    """
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def record_boundary(insert_position: int) -> int:
    """The end of the last record before the place where the next one goes: that may stand behind a page's header."""
    within = insert_position % _PAGE_BYTES
    return insert_position - within if within <= _LONGEST_PAGE_HEADER else insert_position
