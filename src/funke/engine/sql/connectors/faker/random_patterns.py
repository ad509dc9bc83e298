"""Random strings that match a regular expression, for `#{regexify '…'}`."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable

from funke.engine.flink_exceptions import ValidationException

__all__ = ["pattern_maker"]

TextMaker = Callable[[random.Random], str]

# How often `*` and `+` repeat at most.
_MOST_REPEATS = 10
_CLASSES = {"d": string.digits, "w": f"{string.ascii_letters}{string.digits}_", "s": " "}
_COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def pattern_maker(pattern: str) -> TextMaker:
    """Return a maker of texts that match: groups, `|`, classes, `.`, `\\d \\w \\s` and quantifiers are known."""
    parser = _Parser(pattern)
    maker = parser.alternatives()
    if parser.position < len(pattern):
        raise parser.error("a bracket is closed that was not opened")
    return maker


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.position = 0

    def error(self, reason: str) -> ValidationException:
        return ValidationException(f"Cannot make texts for the pattern '{self._pattern}': {reason}.")

    def alternatives(self) -> TextMaker:
        sequences = [self._sequence()]
        while self._peek() == "|":
            self.position += 1
            sequences.append(self._sequence())
        return sequences[0] if len(sequences) == 1 else lambda chance: chance.choice(sequences)(chance)

    def _sequence(self) -> TextMaker:
        parts: list[TextMaker] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return lambda chance: "".join(part(chance) for part in parts)

    def _atom(self) -> TextMaker:
        sign = self._take()
        if sign == "(":
            if self._pattern.startswith("?:", self.position):
                self.position += 2
            group = self.alternatives()
            if self._take() != ")":
                raise self.error("a bracket is not closed")
            return group
        if sign == "[":
            return _one_of(self._class())
        if sign == "\\":
            return _one_of(self._escaped())
        return _one_of(_CLASSES["w"] if sign == "." else sign)

    def _escaped(self) -> str:
        sign = self._take()
        return _CLASSES.get(sign, sign)

    def _class(self) -> str:
        if self._peek() == "^":
            raise self.error("classes that begin with ^ are not known")
        signs = ""
        while (sign := self._take()) != "]":
            if not sign:
                raise self.error("a class is not closed")
            if sign == "\\":
                signs += self._escaped()
            elif sign == "-" and signs and self._peek() not in ("]", ""):
                signs += "".join(map(chr, range(ord(signs[-1]) + 1, ord(self._take()) + 1)))
            else:
                signs += sign
        return signs

    def _repeated(self, atom: TextMaker) -> TextMaker:
        least, most = self._counts()
        if (least, most) == (1, 1):
            return atom
        return lambda chance: "".join(atom(chance) for _ in range(chance.randint(least, most)))

    def _counts(self) -> tuple[int, int]:
        counts_of_mark = {"?": (0, 1), "*": (0, _MOST_REPEATS), "+": (1, _MOST_REPEATS)}
        if self._peek() in counts_of_mark:
            return counts_of_mark[self._take()]
        counts = _COUNTS.match(self._pattern, self.position)
        if counts is None:
            return 1, 1
        self.position = counts.end()
        least = int(counts[1])
        return least, least if counts[2] is None else int(counts[2] or least + _MOST_REPEATS)

    def _peek(self) -> str:
        return self._pattern[self.position : self.position + 1]

    def _take(self) -> str:
        sign = self._peek()
        self.position += 1
        return sign


def _one_of(signs: str) -> TextMaker:
    return lambda chance: chance.choice(signs)
