"""Calls with a syntax of their own, as SQL has them: TRIM(BOTH ' ' FROM a), EXTRACT(YEAR FROM t), a IS JSON."""

from __future__ import annotations

from collections.abc import Callable

from funke.engine.sql.syntax.expressions import Expression, Literal, Symbol

__all__ = ["SPELLED", "Texts", "call_form"]

# The text of each argument.
Texts = tuple[str, ...]

# Functions that take a part out of a time, by that part.
_PARTS = {name: name.upper() for name in ("year", "quarter", "month", "week", "hour", "minute", "second")}
_PARTS |= {"dayofyear": "DOY", "dayofmonth": "DAY", "dayofweek": "DOW"}
_INFIX = ("is distinct from", "is not distinct from")


def call_form(name: str, arguments: tuple[Expression, ...], texts: Texts) -> str | None:
    """Return a call as SQL; None if it has no syntax of its own."""
    if name in _PARTS and len(texts) == 1:
        return f"EXTRACT({_PARTS[name]} FROM {texts[0]})"
    if name in _INFIX:
        return f"{texts[0]} {name.upper()} {texts[1]}"
    if name.startswith("is ") and len(texts) == 1:
        return f"{texts[0]} {name.upper()}"
    form = SPELLED.get(name)
    return None if form is None else form(arguments, texts)


def _trim(arguments: tuple[Expression, ...], texts: Texts) -> str:
    side, removed, operand = texts if len(texts) == 3 else ("BOTH", "' '", *texts)
    return f"TRIM({side} {removed} FROM {operand})"


def _extract(arguments: tuple[Expression, ...], texts: Texts) -> str:
    return f"EXTRACT({texts[0]} FROM {texts[1]})"


def _rounding(name: str) -> Callable[[tuple[Expression, ...], Texts], str]:
    return lambda arguments, texts: f"{name}({' TO '.join(texts)})"


def _position(arguments: tuple[Expression, ...], texts: Texts) -> str:
    start = f" FROM {texts[2]}" if len(texts) > 2 else ""
    return f"POSITION({texts[0]} IN {texts[1]}{start})"


def _overlay(arguments: tuple[Expression, ...], texts: Texts) -> str:
    length = f" FOR {texts[3]}" if len(texts) > 3 else ""
    return f"OVERLAY({texts[0]} PLACING {texts[1]} FROM {texts[2]}{length})"


def _null_if(arguments: tuple[Expression, ...], texts: Texts) -> str:
    return f"CASE WHEN {texts[0]} = {texts[1]} THEN NULL ELSE {texts[0]} END"


def _json_object(arguments: tuple[Expression, ...], texts: Texts) -> str:
    pairs = ", ".join(f"KEY {key} VALUE {value}" for key, value in zip(texts[1::2], texts[2::2]))
    return f"JSON_OBJECT({pairs}{' ' if pairs else ''}{texts[0]} ON NULL)"


def _json_array(arguments: tuple[Expression, ...], texts: Texts) -> str:
    return f"JSON_ARRAY({', '.join(texts[1:])} {texts[0]} ON NULL)" if texts[1:] else "JSON_ARRAY()"


def _json_exists(arguments: tuple[Expression, ...], texts: Texts) -> str:
    on_error = f" {texts[2]} ON ERROR" if len(texts) > 2 else ""
    return f"JSON_EXISTS({texts[0]}, {texts[1]}{on_error})"


def _json_query(arguments: tuple[Expression, ...], texts: Texts) -> str:
    """Flink says what it does when nothing was said."""
    if len(texts) == 2:
        return f"JSON_QUERY({texts[0]}, {texts[1]} WITHOUT ARRAY WRAPPER NULL ON EMPTY NULL ON ERROR)"
    _, _, returning, wrapper, on_empty, on_error = texts
    wanted = "" if returning == "STRING" else f" RETURNING {returning}"
    with_or_not = "" if wrapper.startswith("WITHOUT") else "WITH "
    wrapped = f"{with_or_not}{wrapper} WRAPPER"
    return f"JSON_QUERY({texts[0]}, {texts[1]}{wanted} {wrapped} {on_empty} ON EMPTY {on_error} ON ERROR)"


def _json_value(arguments: tuple[Expression, ...], texts: Texts) -> str:
    if len(texts) == 2:
        return f"JSON_VALUE({texts[0]}, {texts[1]})"
    wanted = "" if texts[2] == "STRING" else f" RETURNING {texts[2]}"
    behaviours = "".join(
        _json_behaviour(arguments[place], arguments[place + 1], texts[place + 1], of)
        for place, of in ((3, "EMPTY"), (5, "ERROR"))
    )
    return f"JSON_VALUE({texts[0]}, {texts[1]}{wanted}{behaviours})"


def _json_behaviour(word: Expression, default: Expression, text: str, of: str) -> str:
    """NULL is what happens anyway."""
    assert isinstance(word, Symbol)
    if word.name == "NULL":
        return ""
    has_default = word.name == "DEFAULT" and isinstance(default, Literal)
    return f" {word.name} {text} ON {of}" if has_default else f" {word.name} ON {of}"


SPELLED: dict[str, Callable[[tuple[Expression, ...], Texts], str]] = {
    "trim": _trim,
    "extract": _extract,
    "floor": _rounding("FLOOR"),
    "ceil": _rounding("CEIL"),
    "position": _position,
    "overlay": _overlay,
    "nullif": _null_if,
    "json_object": _json_object,
    "json_array": _json_array,
    "json_exists": _json_exists,
    "json_query": _json_query,
    "json_value": _json_value,
}
