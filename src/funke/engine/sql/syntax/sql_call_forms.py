"""Calls with a syntax of their own, as SQL has them: TRIM(BOTH ' ' FROM a), EXTRACT(YEAR FROM t), a IS JSON."""

from __future__ import annotations

from collections.abc import Callable

from funke.engine.sql.syntax.expressions import Expression, Literal, Symbol

__all__ = ["SPELLED", "Strings", "call_form"]

# The text of each argument.
Strings = tuple[str, ...]

# Functions that take a part out of a time, by that part.
_PARTS = {name: name.upper() for name in ("year", "quarter", "month", "week", "hour", "minute", "second")}
_PARTS |= {"dayofyear": "DOY", "dayofmonth": "DAY", "dayofweek": "DOW"}
_INFIX = ("is distinct from", "is not distinct from")


def call_form(name: str, arguments: tuple[Expression, ...], strings: Strings) -> str | None:
    """Return a call as SQL; None if it has no syntax of its own."""
    if name in _PARTS and len(strings) == 1:
        return f"EXTRACT({_PARTS[name]} FROM {strings[0]})"
    if name in _INFIX:
        return f"{strings[0]} {name.upper()} {strings[1]}"
    if name.startswith("is ") and len(strings) == 1:
        return f"{strings[0]} {name.upper()}"
    form = SPELLED.get(name)
    return None if form is None else form(arguments, strings)


def _trim(arguments: tuple[Expression, ...], strings: Strings) -> str:
    side, removed, operand = strings if len(strings) == 3 else ("BOTH", "' '", *strings)
    return f"TRIM({side} {removed} FROM {operand})"


def _extract(arguments: tuple[Expression, ...], strings: Strings) -> str:
    return f"EXTRACT({strings[0]} FROM {strings[1]})"


def _rounding(name: str) -> Callable[[tuple[Expression, ...], Strings], str]:
    return lambda arguments, strings: f"{name}({' TO '.join(strings)})"


def _position(arguments: tuple[Expression, ...], strings: Strings) -> str:
    start = f" FROM {strings[2]}" if len(strings) > 2 else ""
    return f"POSITION({strings[0]} IN {strings[1]}{start})"


def _overlay(arguments: tuple[Expression, ...], strings: Strings) -> str:
    length = f" FOR {strings[3]}" if len(strings) > 3 else ""
    return f"OVERLAY({strings[0]} PLACING {strings[1]} FROM {strings[2]}{length})"


def _null_if(arguments: tuple[Expression, ...], strings: Strings) -> str:
    return f"CASE WHEN {strings[0]} = {strings[1]} THEN NULL ELSE {strings[0]} END"


def _json_object(arguments: tuple[Expression, ...], strings: Strings) -> str:
    pairs = ", ".join(f"KEY {key} VALUE {value}" for key, value in zip(strings[1::2], strings[2::2]))
    return f"JSON_OBJECT({pairs}{' ' if pairs else ''}{strings[0]} ON NULL)"


def _json_array(arguments: tuple[Expression, ...], strings: Strings) -> str:
    return f"JSON_ARRAY({', '.join(strings[1:])} {strings[0]} ON NULL)" if strings[1:] else "JSON_ARRAY()"


def _json_exists(arguments: tuple[Expression, ...], strings: Strings) -> str:
    on_error = f" {strings[2]} ON ERROR" if len(strings) > 2 else ""
    return f"JSON_EXISTS({strings[0]}, {strings[1]}{on_error})"


def _json_query(arguments: tuple[Expression, ...], strings: Strings) -> str:
    """Flink says what it does when nothing was said."""
    if len(strings) == 2:
        return f"JSON_QUERY({strings[0]}, {strings[1]} WITHOUT ARRAY WRAPPER NULL ON EMPTY NULL ON ERROR)"
    _, _, returning, wrapper, on_empty, on_error = strings
    returning_text = "" if returning == "STRING" else f" RETURNING {returning}"
    with_or_not = "" if wrapper.startswith("WITHOUT") else "WITH "
    wrapped = f"{with_or_not}{wrapper} WRAPPER"
    return f"JSON_QUERY({strings[0]}, {strings[1]}{returning_text} {wrapped} {on_empty} ON EMPTY {on_error} ON ERROR)"


def _json_value(arguments: tuple[Expression, ...], strings: Strings) -> str:
    if len(strings) == 2:
        return f"JSON_VALUE({strings[0]}, {strings[1]})"
    returning_text = "" if strings[2] == "STRING" else f" RETURNING {strings[2]}"
    behaviours = "".join(
        _json_behaviour(arguments[index], arguments[index + 1], strings[index + 1], of)
        for index, of in ((3, "EMPTY"), (5, "ERROR"))
    )
    return f"JSON_VALUE({strings[0]}, {strings[1]}{returning_text}{behaviours})"


def _json_behaviour(word: Expression, default: Expression, text: str, of: str) -> str:
    """NULL is what happens anyway."""
    assert isinstance(word, Symbol)
    if word.name == "NULL":
        return ""
    has_default = word.name == "DEFAULT" and isinstance(default, Literal)
    return f" {word.name} {text} ON {of}" if has_default else f" {word.name} ON {of}"


SPELLED: dict[str, Callable[[tuple[Expression, ...], Strings], str]] = {
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
