"""A pattern as JSON, for patterns that come with a stream: its conditions are SQL expressions over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.errors import MalformedPatternError, UnsupportedFeatureError, did_you_mean
from funke.engine.operators.patterns.conditions import AllOf, AnyOf, Condition, OfColumns
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

__all__ = ["from_plain", "to_plain"]

# A condition of the engine for the text of an expression.
MakeCondition = Callable[[str], Condition]

_PART = (
    *("name", "group", "alternatives"),
    *("follows", "where", "until", "times", "optional", "greedy", "inner", "within_previous"),
)
_PATTERN = ("parts", "within", "skip", "skip_to", "fails_on_miss")


def to_plain(pattern: Pattern) -> dict[str, Any]:
    """The pattern as what JSON can hold; times are milliseconds."""
    plain: dict[str, Any] = {"parts": [_plain_part(each) for each in pattern.elements]}
    if pattern.within_ms is not None:
        plain["within"] = pattern.within_ms
    if pattern.skip.kind is not SkipKind.NO_SKIP:
        plain["skip"] = pattern.skip.kind.value
    if pattern.skip.stage:
        plain["skip_to"] = pattern.skip.stage
    if pattern.skip.fails_on_miss:
        plain["fails_on_miss"] = True
    return plain


def from_plain(plain: Any, condition: MakeCondition) -> Pattern:
    """The pattern that `to_plain` gave; MalformedPatternError says what is wrong with it."""
    _check_fields(plain, _PATTERN, "a pattern")
    parts = plain.get("parts")
    if not isinstance(parts, list) or not parts:
        raise MalformedPatternError("a pattern needs a list of parts")
    skip = Skip(
        _word(SkipKind, plain.get("skip", SkipKind.NO_SKIP.value), "skip"),
        plain.get("skip_to", ""),
        bool(plain.get("fails_on_miss", False)),
    )
    elements = tuple(_part(each, condition) for each in parts)
    pattern = Pattern(elements, _milliseconds(plain, "within"), skip)
    if (skip.kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST)) != bool(skip.stage):
        raise MalformedPatternError("'skip to first' and 'skip to last' need skip_to, the name of a part")
    if skip.stage and skip.stage not in pattern.names:
        raise MalformedPatternError(f"the part to skip to, {skip.stage!r}, is none of {', '.join(pattern.names)}")
    return pattern


def _plain_part(element: Element) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    if isinstance(element, Alternatives):
        plain["alternatives"] = [[_plain_part(each) for each in branch] for branch in element.branches]
    elif isinstance(element, Group):
        plain["group"] = [_plain_part(each) for each in element.elements]
    else:
        plain["name"] = element.name
        if element.condition is not None:
            plain["where"] = _condition_text(element.condition)
        if element.within_previous_ms is not None:
            plain["within_previous"] = element.within_previous_ms
    if element.contiguity is not Contiguity.STRICT:
        plain["follows"] = element.contiguity.value
    quantifier = element.quantifier
    if not quantifier.is_single:
        plain["times"] = [quantifier.at_least, quantifier.at_most]
        plain["inner"] = quantifier.inner.value
    if quantifier.is_optional:
        plain["optional"] = True
    if quantifier.is_greedy:
        plain["greedy"] = True
    if element.until is not None:
        plain["until"] = _condition_text(element.until)
    return plain


def _condition_text(condition: Condition) -> str:
    if isinstance(condition, OfColumns):
        return condition.text
    if isinstance(condition, (AllOf, AnyOf)):
        word = " AND " if isinstance(condition, AllOf) else " OR "
        return word.join(f"({_condition_text(each)})" for each in condition.parts)
    raise UnsupportedFeatureError(
        "a Python function in the JSON form of a pattern", "write the condition as an expression over columns"
    )


def _part(plain: Any, condition: MakeCondition) -> Element:
    _check_fields(plain, _PART, "a part of a pattern")
    default = Contiguity.STRICT.value
    contiguity = _word(Contiguity, plain.get("follows", default), "follows")
    until = condition(plain["until"]) if "until" in plain else None
    if "group" in plain:
        rejected = next((each for each in ("name", "where", "within_previous") if each in plain), None)
        if rejected or not isinstance(plain["group"], list) or not plain["group"]:
            raise MalformedPatternError(f"a group is a list of parts, and has no {rejected or 'empty list'}")
        inner = tuple(_part(each, condition) for each in plain["group"])
        return Group(inner, contiguity, _quantifier(plain), until)
    if "alternatives" in plain:
        rejected = next((each for each in ("name", "where", "until", "within_previous") if each in plain), None)
        branches = plain["alternatives"]
        if rejected or not isinstance(branches, list) or not all(each and isinstance(each, list) for each in branches):
            raise MalformedPatternError(f"alternatives are lists of parts, and have no {rejected or 'empty list'}")
        parts = tuple(tuple(_part(each, condition) for each in branch) for branch in branches)
        return Alternatives(parts, contiguity, _quantifier(plain))
    if not isinstance(plain.get("name"), str):
        raise MalformedPatternError("a part of a pattern needs a name, a group of parts, or alternatives")
    where = condition(plain["where"]) if "where" in plain else None
    return Stage(plain["name"], where, contiguity, _quantifier(plain), until, _milliseconds(plain, "within_previous"))


def _quantifier(plain: Mapping[str, Any]) -> Quantifier:
    times = plain.get("times", [1, 1])
    least, most = times if isinstance(times, list) and len(times) == 2 else (times, times)
    is_number = type(least) is int and (most is None or type(most) is int)
    if not is_number or least < 1 or (most is not None and most < least):
        raise MalformedPatternError(f"times is a number, or [at least, at most or null], got {times!r}")
    inner = _word(Contiguity, plain.get("inner", Contiguity.RELAXED.value), "inner")
    if inner.is_negative:
        raise MalformedPatternError(f"the events of a loop cannot follow each other as {inner.value!r}")
    return Quantifier(least, most, bool(plain.get("optional", False)), bool(plain.get("greedy", False)), inner)


def _milliseconds(plain: Mapping[str, Any], field: str) -> int | None:
    milliseconds = plain.get(field)
    if milliseconds is not None and (type(milliseconds) is not int or milliseconds <= 0):
        raise MalformedPatternError(f"{field} is a number of milliseconds greater than 0, got {milliseconds!r}")
    return milliseconds


def _word(kind: Any, word: Any, field: str) -> Any:
    words = [each.value for each in kind]
    if word not in words:
        raise MalformedPatternError(f"{field} is one of {', '.join(words)}; got {word!r}")
    return kind(word)


def _check_fields(plain: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(plain, dict):
        raise MalformedPatternError(f"{what} is an object, got {plain!r}")
    unknown = next((each for each in plain if each not in names), None)
    if unknown is not None:
        raise MalformedPatternError(f"{what} has no field {unknown!r}{did_you_mean(unknown, names)}")
