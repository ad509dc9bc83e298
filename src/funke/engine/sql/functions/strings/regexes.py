"""LIKE, SIMILAR TO and regular expressions: patterns of SQL and Java as patterns of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from funke.engine.sql.functions.function import BoundCall, Function
from funke.engine.sql.functions.strings.regex_kernels import extract_kernel, match_kernel, replace_kernel
from funke.engine.types.logical import LONGEST, ArrayType, BooleanType, IntType, VarCharType

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Kernel

__all__ = ["REGEXES", "java_regex", "like_regex", "similar_regex"]

_STRING, _BOOLEAN, _INT = VarCharType(LONGEST), BooleanType(), IntType()
# The marks of LIKE: any text, and any character but the end of a line.
_MARKS = {"%": "(?s:.*)", "_": "[^\n\r\x85\u2028\u2029]"}


@lru_cache(maxsize=1024)
def like_regex(pattern: str, escape: str = "") -> re.Pattern[str]:
    regex, offset = "", 0
    while offset < len(pattern):
        letter = pattern[offset]
        if escape and letter == escape:
            offset += 1
            if offset == len(pattern) or pattern[offset] not in ("%", "_", escape):
                raise ValueError(f"Invalid escape sequence '{pattern}', {offset - 1}")
            regex += re.escape(pattern[offset])
        else:
            regex += _MARKS.get(letter, re.escape(letter))
        offset += 1
    return re.compile(regex)


@lru_cache(maxsize=1024)
def similar_regex(pattern: str, escape: str = "") -> re.Pattern[str]:
    """Return the pattern of SIMILAR TO: LIKE's marks beside alternatives, repetitions and classes."""
    regex, offset, in_class = "", 0, False
    while offset < len(pattern):
        letter = pattern[offset]
        if escape and letter == escape and offset + 1 < len(pattern):
            offset += 1
            regex += re.escape(pattern[offset])
        elif in_class or letter in "[]":
            in_class = letter == "[" or (in_class and letter != "]")
            regex += letter
        else:
            regex += _MARKS.get(letter, letter if letter in "|*+?{}(),-0123456789" else re.escape(letter))
        offset += 1
    regex = re.sub(r"\[\[:(\w+):\]\]", lambda match: _CLASSES.get(match[1].upper(), match[0]), regex)
    return re.compile(regex)


_CLASSES = {"ALPHA": "[A-Za-z]", "DIGIT": "[0-9]", "ALNUM": "[A-Za-z0-9]", "UPPER": "[A-Z]", "LOWER": "[a-z]"}

_POSIX = {
    r"\p{Alpha}": "a-zA-Z",
    r"\p{Digit}": "0-9",
    r"\p{Alnum}": "a-zA-Z0-9",
    r"\p{Upper}": "A-Z",
    r"\p{Lower}": "a-z",
    r"\p{Punct}": r"!-/:-@\[-`{-~",
    r"\p{Space}": r"\s",
}


@lru_cache(maxsize=1024)
def java_regex(pattern: str) -> re.Pattern[str] | None:
    """Return a Java pattern; None if it is invalid. Classes like \\d match ASCII alone, as in Java."""
    for name, letters in _POSIX.items():
        # Java's POSIX classes, alone or inside of brackets: \p{Alpha}, [\p{Alpha}_].
        pattern = pattern.replace(f"[{name}", f"[{letters}").replace(name, f"[{letters}]")
    pattern = re.sub(r"\(\?<([A-Za-z]\w*)>", r"(?P<\1>", pattern).replace(r"\z", r"\Z")
    try:
        return re.compile(pattern, re.ASCII)
    except re.error:
        return None


def _like(text: str, pattern: str, escape: str = "") -> bool:
    return like_regex(pattern, escape).fullmatch(text) is not None


def _similar(text: str, pattern: str, escape: str = "") -> bool:
    return similar_regex(pattern, escape).fullmatch(text) is not None


def _not(body: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *values: not body(*values)


def _like_kernel(call: BoundCall) -> Kernel | None:
    pattern = call.arguments[1].value
    # Arrow's LIKE takes a backslash for an escape; here it is an ordinary character without ESCAPE.
    if not isinstance(pattern, str) or len(call.arguments) > 2 or "\\" in pattern or "\n" in pattern:
        return None
    if "_" in pattern:
        regex = rf"\A(?:{like_regex(pattern).pattern})\z"
        return lambda text, _: pc.match_substring_regex(text, regex)
    return lambda text, _: pc.match_like(text, pattern)


def _not_like_kernel(call: BoundCall) -> Kernel | None:
    kernel = _like_kernel(call)
    return None if kernel is None else lambda text, pattern: pc.invert(kernel(text, pattern))


def _regexp(text: str, pattern: str) -> bool:
    if not pattern:
        return False
    compiled = java_regex(pattern)
    return compiled is not None and compiled.search(text) is not None


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    compiled = java_regex(pattern)
    match = None if compiled is None or not 0 <= group <= compiled.groups else compiled.search(text)
    return None if match is None else match[group]


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    compiled = java_regex(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    return [match[group] for match in compiled.finditer(text)]


def _replace(text: str, pattern: str, replacement: str) -> str | None:
    compiled = java_regex(pattern)
    # The replacement is plain text: $1 stands for itself.
    return None if compiled is None else compiled.sub(lambda match: replacement, text)


def _count(text: str, pattern: str) -> int | None:
    compiled = java_regex(pattern)
    return None if compiled is None else sum(1 for _ in compiled.finditer(text))


def _instr(text: str, pattern: str) -> int | None:
    compiled = java_regex(pattern)
    if compiled is None:
        return None
    match = compiled.search(text)
    return 0 if match is None else match.start() + 1


def _substr(text: str, pattern: str) -> str | None:
    return _extract(text, pattern)


def _matching(name: str, body: Callable[..., bool], kernel: Any, purpose: str) -> Function:
    return Function((name,), "text, text, text?", _BOOLEAN, body, kernel_for=kernel, purpose=purpose)


REGEXES: tuple[Function, ...] = (
    _matching("like", _like, _like_kernel, "Whether a text has the form of a pattern with % and _."),
    _matching("not like", _not(_like), _not_like_kernel, "Whether a text does not have the form of a pattern."),
    _matching("similar to", _similar, None, "Whether a text has the form of SQL's regular expression."),
    _matching("not similar to", _not(_similar), None, "Whether it does not have that form."),
    Function(
        ("regexp",),
        "text, text",
        _BOOLEAN,
        _regexp,
        kernel_for=lambda call: match_kernel(call, java_regex),
        purpose="Whether a part of a text matches a pattern.",
    ),
    Function(
        ("regexp_extract",),
        "text, text, integer?",
        _STRING,
        _extract,
        kernel_for=lambda call: extract_kernel(call, java_regex),
        may_give_null=True,
        purpose="A group of the first match, the whole match by default; NULL without one.",
    ),
    Function(
        ("regexp_extract_all",),
        "text, text, integer?",
        ArrayType(_STRING),
        _extract_all,
        may_give_null=True,
        purpose="A group of every match, the first group by default.",
    ),
    Function(
        ("regexp_replace",),
        "text, text, text",
        _STRING,
        _replace,
        kernel_for=lambda call: replace_kernel(call, java_regex),
        purpose="A text with every match replaced by a plain text.",
    ),
    Function(("regexp_count",), "text, text", _INT, _count, may_give_null=True, purpose="How often a pattern matches."),
    Function(
        ("regexp_instr",),
        "text, text",
        _INT,
        _instr,
        may_give_null=True,
        purpose="Where the first match starts; 0 if none.",
    ),
    Function(
        ("regexp_substr",),
        "text, text",
        _STRING,
        _substr,
        may_give_null=True,
        purpose="The first match; NULL without one.",
    ),
)
