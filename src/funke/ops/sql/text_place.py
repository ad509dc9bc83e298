"""Where in an SQL text a place is: in plain text, between quotes, in a comment; and which statement it is part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from funke.engine.sql.parsing.tokens import Token, tokenize

__all__ = ["TextPlace", "place_of"]

Kind = Literal["plain", "string", "name", "comment"]
_OPENING: tuple[tuple[str, Kind, str], ...] = (
    ("'", "string", "'"),
    ("`", "name", "`"),
    ("--", "comment", "\n"),
    ("//", "comment", "\n"),
    ("/*", "comment", "*/"),
)


@dataclass(frozen=True)
class TextPlace:
    """A place, with what stands before it in its statement."""

    kind: Kind
    # What has been typed of a word, or since the quote.
    word: str
    # The tokens before that, from the beginning of the statement, and those of the whole statement.
    before: tuple[Token, ...]
    statement: tuple[Token, ...]


def place_of(text: str, position: int) -> TextPlace:
    """Describe a place.

    >>> place = place_of("SELECT a FROM t; SELECT b.co FROM b", 28)
    >>> place.kind, place.word, [each.text for each in place.before]
    ('plain', 'co', ['SELECT', 'b', '.'])
    """
    kind, start = _state_at(text, position)
    if kind == "plain":
        start = position
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        word = text[start:position]
    else:
        word = text[start + 1 : position]
    before = _last_statement(tokenize(text[:start])[:-1])
    # What follows counts as well: names of columns are completed before FROM is typed, and after.
    rest = text[position:] if kind == "plain" else ""
    after = tokenize(rest)[:-1]
    end = next((place for place, token in enumerate(after) if token.key == ";"), len(after))
    return TextPlace(kind, word, before, (*before, *after[:end]))


def _last_statement(tokens: list[Token]) -> tuple[Token, ...]:
    ends = [place for place, token in enumerate(tokens) if token.key == ";"]
    return tuple(tokens[ends[-1] + 1 :] if ends else tokens)


def _state_at(text: str, position: int) -> tuple[Kind, int]:
    """What a place is in, and where that begins."""
    place = 0
    while place < position:
        found = next((each for each in _OPENING if text.startswith(each[0], place)), None)
        if found is None:
            place += 1
            continue
        opening, kind, closing = found
        end = text.find(closing, place + len(opening))
        if end < 0 or end + len(closing) > position:
            # A comment of one line ends before its line end.
            return kind, place
        place = end + len(closing)
    return "plain", place
