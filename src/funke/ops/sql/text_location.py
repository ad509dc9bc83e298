"""What a position in an SQL text is in: plain text, quotes or a comment; and the statement around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from funke.engine.sql.parsing.tokens import Token, tokenize

__all__ = ["TextLocation", "location_of"]

Kind = Literal["plain", "string", "name", "comment"]
_OPENING: tuple[tuple[str, Kind, str], ...] = (
    ("'", "string", "'"),
    ("`", "name", "`"),
    ("--", "comment", "\n"),
    ("//", "comment", "\n"),
    ("/*", "comment", "*/"),
)


@dataclass(frozen=True)
class TextLocation:
    """A position in a text, with what stands before it in its statement."""

    kind: Kind
    # What has been typed of a word, or since the quote.
    word: str
    # The tokens before that, from the beginning of the statement, and those of the whole statement.
    before: tuple[Token, ...]
    statement: tuple[Token, ...]


def location_of(text: str, position: int) -> TextLocation:
    """Describe a position.

    location = place_of("SELECT a FROM t; SELECT b.co FROM b", 28)
    >>> location.kind, location.word, [each.text for each in location.before]
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
    end = next((index for index, token in enumerate(after) if token.key == ";"), len(after))
    return TextLocation(kind, word, before, (*before, *after[:end]))


def _last_statement(tokens: list[Token]) -> tuple[Token, ...]:
    ends = [index for index, token in enumerate(tokens) if token.key == ";"]
    return tuple(tokens[ends[-1] + 1 :] if ends else tokens)


def _state_at(text: str, position: int) -> tuple[Kind, int]:
    """What a position is in, and where that begins."""
    index = 0
    while index < position:
        delimiters = next((each for each in _OPENING if text.startswith(each[0], index)), None)
        if delimiters is None:
            index += 1
            continue
        opening, kind, closing = delimiters
        end = text.find(closing, index + len(opening))
        if end < 0 or end + len(closing) > position:
            # A comment of one line ends before its line end.
            return kind, index
        index = end + len(closing)
    return "plain", index
