"""Regular expressions on whole columns: by RE2, for patterns that mean the same to it as to Java."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from funke.engine.sql.functions.function import BoundCall

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Kernel

__all__ = ["extract_kernel", "match_kernel", "replace_kernel"]

_FOUND = "found"
# RE2's bound.
_MOST_REPEATS = 1000
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "0-9",
    codes.CATEGORY_WORD: "A-Za-z0-9_",
    codes.CATEGORY_SPACE: r" \t\n\x0b\f\r",
}


class _DiffersError(Exception):
    """The pattern has something that RE2 does not know, or takes for something else."""


def extract_kernel(call: BoundCall, to_python: Callable[[str], re.Pattern[str] | None]) -> Kernel | None:
    """Return the kernel that extracts a group, if pattern and group are constants."""
    group = call.arguments[2].value if len(call.arguments) > 2 else 0
    pattern = _constant_pattern(call, to_python)
    if pattern is None or not isinstance(group, int):
        return None
    text = _re2_text(pattern, group)
    if text is None:
        return None
    return lambda column, *_: pc.struct_field(pc.extract_regex(column, text), _FOUND)


def match_kernel(call: BoundCall, to_python: Callable[[str], re.Pattern[str] | None]) -> Kernel | None:
    """Return the kernel that looks for a match, if the pattern is a constant."""
    pattern = _constant_pattern(call, to_python)
    text = None if pattern is None else _re2_text(pattern, None)
    return None if not text else lambda column, *_: pc.match_substring_regex(column, text)


def replace_kernel(call: BoundCall, to_python: Callable[[str], re.Pattern[str] | None]) -> Kernel | None:
    """Return the kernel that replaces matches, if pattern and replacement are constants and no match is empty."""
    pattern, replacement = _constant_pattern(call, to_python), call.arguments[2].value
    if pattern is None or not isinstance(replacement, str) or pattern.match("") or pattern.search(""):
        return None
    text = _re2_text(pattern, None)
    plain = replacement.replace("\\", "\\\\")
    if text is None or _parser.parse(pattern.pattern, re.ASCII).getwidth()[0] == 0:
        return None
    return lambda column, *_: pc.replace_substring_regex(column, text, plain)


def _constant_pattern(call: BoundCall, to_python: Callable[[str], re.Pattern[str] | None]) -> re.Pattern[str] | None:
    value = call.arguments[1].value
    return to_python(value) if isinstance(value, str) else None


@lru_cache(maxsize=256)
def _re2_text(pattern: re.Pattern[str], group: int | None) -> str | None:
    """Return the pattern for RE2, with a name for the group that is wanted; None if the results might differ."""
    if group is not None and not 0 <= group <= pattern.groups:
        return None
    parsed = _parser.parse(pattern.pattern, re.ASCII)
    if parsed.state.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE):
        return None
    try:
        text = _sequence(parsed, group)
    except _DiffersError:
        return None
    return f"(?P<{_FOUND}>{text})" if group == 0 else text


def _sequence(nodes: Iterable[tuple[Any, Any]], group: int | None) -> str:
    return "".join(_node(code, argument, group) for code, argument in nodes)


def _node(code: Any, argument: Any, group: int | None) -> str:
    if code is codes.LITERAL:
        return _letter(argument)
    if code is codes.NOT_LITERAL:
        return f"[^{_letter(argument)}]"
    if code is codes.ANY:
        return r"[^\n]"
    if code is codes.IN:
        return _letters(argument)
    if code is codes.AT and argument is codes.AT_BEGINNING:
        return "^"
    if code is codes.SUBPATTERN:
        number, added, removed, inside = argument
        if not added and not removed:
            return f"({f'?P<{_FOUND}>' if number and number == group else '?:'}{_sequence(inside, group)})"
    # A group that takes no part in a match is NULL here and empty there.
    if code is codes.BRANCH:
        return f"(?:{'|'.join(_sequence(_without(each, group), group) for each in argument[1])})"
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, inside = argument
        return _repeated(code, least, most, inside, group)
    raise _DiffersError


def _repeated(code: Any, least: int, most: Any, inside: Any, group: int | None) -> str:
    is_endless = most is codes.MAXREPEAT
    if least > _MOST_REPEATS or (not is_endless and most > _MOST_REPEATS) or inside.getwidth()[0] == 0:
        raise _DiffersError
    times = f"{{{least},{'' if is_endless else most}}}"
    lazy = "?" if code is codes.MIN_REPEAT else ""
    return f"(?:{_sequence(_without(inside, group), group)}){times}{lazy}"


def _without(nodes: Any, group: int | None) -> Any:
    """Return the nodes, if the wanted group is not among them."""
    for code, argument in nodes:
        if code is codes.SUBPATTERN:
            if group and argument[0] == group:
                raise _DiffersError
            _without(argument[3], group)
        elif code is codes.BRANCH:
            for each in argument[1]:
                _without(each, group)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            _without(argument[2], group)
    return nodes


def _letters(items: Iterable[tuple[Any, Any]]) -> str:
    letters = []
    for code, argument in items:
        if code is codes.NEGATE:
            letters.append("^")
        elif code is codes.LITERAL:
            letters.append(_letter(argument))
        elif code is codes.RANGE:
            letters.append("-".join(map(_letter, argument)))
        elif code is codes.CATEGORY and argument in _CATEGORIES:
            letters.append(_CATEGORIES[argument])
        else:
            raise _DiffersError
    return f"[{''.join(letters)}]"


def _letter(number: int) -> str:
    letter = chr(number)
    return letter if letter.isalnum() else f"\\x{{{number:x}}}"
