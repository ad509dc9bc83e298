"""Parses the PATTERN clause into the stages of the automaton."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from funke.engine.errors import MalformedPatternError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.operators.patterns.compiler import compile_pattern, ends_greedy
from funke.engine.operators.patterns.pattern import (
    Alternatives,
    Contiguity,
    Element,
    Group,
    Pattern,
    Quantifier,
    Skip,
    SkipKind,
    Stage,
)

__all__ = ["names_in", "stages_of", "with_rules"]

_TOKEN = re.compile(r"\{-|-\}|\{\d*(?:,\d*)?\}\??|[*+?]\??|[()|,]|PERMUTE(?=\()|[^\s()|,*+?{}]+")
_QUANTIFIER = re.compile(r"^(?:[*+?]|\{(?P<least>\d*)(?P<comma>,)?(?P<most>\d*)\})(?P<reluctant>\?)?$")
_WORDS = ("{-", "-}", "(", ")", "|", ",", "PERMUTE")
_STRICT = Contiguity.STRICT
# Six parts have 720 orders, seven have 5 040.
_MOST_PERMUTED = 6


def names_in(text: str) -> list[str]:
    """The variables of a pattern as the parser has it."""
    return [each for each in _TOKEN.findall(text) if each not in _WORDS and not _QUANTIFIER.match(each)]


def stages_of(text: str) -> tuple[Element, ...]:
    """The elements of a pattern as the parser has it: 'A B+? (C D){2}'."""
    return _Reader(text).pattern()


def with_rules(elements: tuple[Element, ...], within_ms: int | None, after_match: str) -> Pattern:
    """A pattern with WITHIN and AFTER MATCH; rejects those that Flink rejects."""
    pattern = Pattern(elements, within_ms, _skip_of(after_match))
    # `A*` alone would match nothing, at every row.
    if compile_pattern(pattern).can_match_nothing():
        raise TableException(
            "Patterns that can produce empty matches are not supported. There must be at least one non-optional state."
        )
    # `A B+` would only know that B has ended by the row behind it. Users name that row: `A B+ C` with C AS NOT (…).
    if ends_greedy(elements[-1]):
        raise TableException(
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish your pattern with either "
            "a simple variable or reluctant quantifier."
        )
    return pattern


def _skip_of(after_match: str) -> Skip:
    if after_match in ("", "skip to next row"):
        return Skip(SkipKind.TO_NEXT)
    if after_match == "skip past last row":
        return Skip(SkipKind.PAST_LAST)
    *_, side, stage = after_match.split()
    return Skip(SkipKind.TO_FIRST if side == "first" else SkipKind.TO_LAST, stage, fails_on_miss=True)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._index = 0
        self._names: Counter[str] = Counter()

    def pattern(self) -> tuple[Element, ...]:
        elements = tuple(self._alternatives())
        if max(self._names.values()) > 1:
            raise TableException("Pattern variables must be unique. That might change in the future.")
        return elements

    def _at(self, *tokens: str) -> bool:
        return self._index < len(self._tokens) and self._tokens[self._index] in tokens

    def _next(self) -> str:
        self._index += 1
        return str(self._tokens[self._index - 1])

    def _rejected(self, why: str) -> TableException:
        return TableException(f"Expression not supported: {self._text}{why}")

    def _alternatives(self) -> list[Element]:
        branches = [self._sequence()]
        while self._at("|"):
            self._next()
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return [Alternatives(tuple(each for branch in branches for each in _unfolded(branch)))]

    def _permuted(self) -> list[Element]:
        parts = []
        while not self._at(")"):
            self._next()
            parts.append(tuple(self._alternatives()))
        self._next()
        if len(parts) > _MOST_PERMUTED:
            raise UnsupportedFeatureError(f"PERMUTE of more than {_MOST_PERMUTED} parts in MATCH_RECOGNIZE")
        return list(_in_any_order(parts))

    def _sequence(self) -> list[Element]:
        elements: list[Element] = []
        followed = _STRICT
        while self._index < len(self._tokens) and not self._at(")", "|", ","):
            if self._at("{-"):
                followed = self._excluded(elements)
                continue
            before, token = elements[-1] if elements else None, self._index + 1
            added = self._quantified()
            is_optional = self._tokens[token : token + 1] in (["*"], ["?"], ["*?"])
            if is_optional and before is not None and ends_greedy(before):
                # As in Flink, {0,3} is not rejected there.
                raise MalformedPatternError("Optional pattern cannot be preceded by greedy pattern")
            if followed is not _STRICT and isinstance(added[0], Alternatives) and added[0].stages is None:
                raise UnsupportedFeatureError("{- -} in front of alternatives that are sequences")
            elements += [replace(added[0], contiguity=followed), *added[1:]]
            followed = _STRICT
        if followed is not _STRICT:
            raise TableException("Currently, CEP doesn't support {- -} patterns at the ending.")
        return elements

    def _excluded(self, elements: Sequence[Element]) -> Contiguity:
        """`{- X*? -}` skips rows until the next stage fits; with `{- X* -}` any later row that fits may be the next."""
        self._next()
        if not elements:
            raise self._rejected(". Currently, CEP doesn't support {- -} patterns at the beginning.")
        inside = []
        while not self._at("-}"):
            inside.append(self._next())
        self._next()
        if len(inside) < 2:
            raise self._rejected(". Currently, CEP doesn't support {- -} patterns without quantifier.")
        if len(inside) > 2 or inside[1] not in ("*", "*?"):
            raise TableException("Pattern excluded quantifier must be <*?, *>.")
        return Contiguity.RELAXED if inside[1] == "*?" else Contiguity.RELAXED_ANY

    def _quantified(self) -> list[Element]:
        if self._at("(", "PERMUTE"):
            if self._next() == "PERMUTE":
                inner = self._permuted()
            else:
                inner = self._alternatives()
                self._next()
            quantifier = self._quantifier()
            if quantifier is None:
                return inner
            if len(inner) == 1 and isinstance(inner[0], Stage) and inner[0].quantifier == Quantifier():
                return [replace(inner[0], quantifier=quantifier)]
            if len(inner) == 1 and isinstance(inner[0], Alternatives) and inner[0].stages is not None:
                return [replace(inner[0], quantifier=quantifier)]
            if quantifier.is_greedy or quantifier.is_optional or not isinstance(inner[0], Stage):
                raise self._rejected(" Group patterns are not supported yet.")
            return [Group(tuple(inner), _STRICT, quantifier)]
        name = self._next()
        self._names[name] += 1
        return [Stage(name, quantifier=self._quantifier() or Quantifier())]

    def _quantifier(self) -> Quantifier | None:
        match = _QUANTIFIER.match(self._tokens[self._index]) if self._index < len(self._tokens) else None
        if match is None:
            return None
        token = self._next()
        is_reluctant = match["reluctant"] is not None
        least, most = _bounds(token, match)
        if (least, most) == (0, 1):
            if is_reluctant:
                raise TableException("Reluctant optional variables are not supported yet.")
            return Quantifier(is_optional=True, inner=_STRICT)
        is_greedy = not is_reluctant and least != most
        return Quantifier(max(least, 1), most, least == 0, is_greedy, _STRICT)


def _unfolded(branch: list[Element]) -> tuple[tuple[Element, ...], ...]:
    """The alternatives of a branch that has nothing else, so that `((A | B) | C)` is one choice of three."""
    if len(branch) == 1 and isinstance(branch[0], Alternatives) and branch[0].quantifier == Quantifier():
        return branch[0].branches
    return (tuple(branch),)


def _in_any_order(parts: Sequence[tuple[Element, ...]]) -> tuple[Element, ...]:
    if len(parts) == 1:
        return parts[0]
    return (
        Alternatives(
            tuple((*part, *_in_any_order([*parts[:index], *parts[index + 1 :]])) for index, part in enumerate(parts))
        ),
    )


def _bounds(token: str, match: re.Match[str]) -> tuple[int, int | None]:
    if token[0] != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token[0]]
    least = int(match["least"] or 0)
    if match["comma"] is None:
        return least, least
    return least, int(match["most"]) if match["most"] else None
