"""Values of the type VARIANT: documents of JSON as texts, which are equal if Flink's values are.

Stored, members stand in the order in which they came, and numbers have the digits that they were written with; a number
with an exponent is a double. Shown, members are sorted and decimals have no zeros at their ends, as in Flink.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from funke.engine.types.number_text import double_text

__all__ = ["member_of", "element_of", "parsed", "shown_text"]

_MOST_DIGITS = 38


def parsed(text: str, allows_repeats: bool = False) -> str:
    """The stored text of a document; ValueError if it is none. Of a member that comes twice the last value counts."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = _decoder(allows_repeats).raw_decode(text, start)
    is_word = not isinstance(value, (str, list, dict))
    if is_word and end < len(text) and text[end] not in " \t\r\n":
        raise ValueError(f"unexpected character behind {text[start:end]!r}")
    return _text(value, is_shown=False)


def shown_text(stored: str) -> str:
    """What is stored as people see it."""
    return _text(_loaded(stored), is_shown=True)


def member_of(stored: str, name: str) -> str | None:
    """The member of an object; None if there is none."""
    value = _loaded(stored)
    if not isinstance(value, dict):
        raise TypeError(
            "String key access on variant requires an object variant, but a non-object variant was provided."
        )
    return _text(value[name], is_shown=False) if name in value else None


def element_of(stored: str, index: int) -> str | None:
    """The element of an array by its index from 1; None if there is none."""
    value = _loaded(stored)
    if not isinstance(value, list):
        raise TypeError(
            "Integer index access on variant requires an array variant, but a non-array variant was provided."
        )
    return _text(value[index - 1], is_shown=False) if 1 <= index <= len(value) else None


def _loaded(stored: str) -> Any:
    # Infinity is what a double may have become.
    return json.loads(stored, parse_float=_number, parse_int=_number)


def _decoder(allows_repeats: bool) -> json.JSONDecoder:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        by_name = dict(pairs)
        if len(by_name) < len(pairs) and not allows_repeats:
            raise ValueError("VARIANT_DUPLICATE_KEY")
        return by_name

    return json.JSONDecoder(object_pairs_hook=members, parse_float=_number, parse_int=_number, parse_constant=_reject)


def _reject(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _number(text: str) -> int | float | Decimal:
    if "e" in text or "E" in text:
        return float(text)
    digits = text.lstrip("-").replace(".", "").lstrip("0")
    scale = len(text.partition(".")[2])
    if len(digits) > _MOST_DIGITS or scale > _MOST_DIGITS:
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _text(value: Any, is_shown: bool) -> str:
    if isinstance(value, dict):
        names = sorted(value) if is_shown else value
        return "{" + ",".join(f"{_quoted(name)}:{_text(value[name], is_shown)}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_text(each, is_shown) for each in value) + "]"
    if isinstance(value, Decimal):
        return _decimal_text(value) if is_shown else f"{value:f}"
    if isinstance(value, float):
        return double_text(value) if is_shown else _stored_double(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _decimal_text(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _stored_double(value: float) -> str:
    text = json.dumps(value)
    return text if "e" in text or "n" in text else f"{text}e0"
