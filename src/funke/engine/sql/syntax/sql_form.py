"""Expressions as SQL, in the form that Flink gives them in DESCRIBE and SHOW CREATE: every name in back quotes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from funke.engine.sql.syntax.expressions import (
    Alias,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Name,
    Star,
    Symbol,
    TypeArgument,
)
from funke.engine.sql.syntax.text_form import summary
from funke.engine.types.logical.atomic_types import BinaryType
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.sql_text import quoted, to_full_sql_text
from funke.engine.types.logical.time_types import DateType, TimestampType, TimeType

__all__ = ["sql_form"]

# From weak to strong; a part that binds weaker than what is around it stands in parentheses.
_LEVELS = (
    ("or",),
    ("and",),
    ("not",),
    ("=", "<>", "<", ">", "<=", ">=", "like", "not like", "similar to", "in", "not in", "between", "not between"),
    ("+", "-"),
    ("*", "/", "%"),
)
_LEVEL_OF = {name: level for level, names in enumerate(_LEVELS) for name in names}
_HIGHEST = len(_LEVELS)
_POSTFIX = ("is null", "is not null", "is true", "is false", "is not true", "is not false")
# Functions that SQL writes without parentheses.
_BARE = frozenset(["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"])
_DAY_UNITS = ((86_400_000, "DAY"), (3_600_000, "HOUR"), (60_000, "MINUTE"))


def sql_form(expression: Expression) -> str:
    """Return an expression as SQL.

    >>> from funke.engine.sql.parsing import parse_expression
    >>> sql_form(parse_expression("upper(a) || 'x' <> b and c + 1 * (d - 2) is null"))
    "UPPER(`a`) || 'x' <> `b` AND `c` + 1 * (`d` - 2) IS NULL"
    """
    return _text(expression, 0)


def _text(expression: Expression, level: int) -> str:
    if isinstance(expression, Name):
        return ".".join(map(quoted, expression.parts))
    if isinstance(expression, Literal):
        return _literal_text(expression)
    if isinstance(expression, Star):
        return ".".join((*map(quoted, expression.table), "*"))
    if isinstance(expression, Symbol):
        return expression.name
    if isinstance(expression, TypeArgument):
        return to_full_sql_text(expression.type)
    if isinstance(expression, Cast):
        name = "TRY_CAST" if expression.is_safe else "CAST"
        return f"{name}({_text(expression.operand, 0)} AS {to_full_sql_text(expression.type)})"
    if isinstance(expression, Case):
        return _case_text(expression)
    if isinstance(expression, Alias):
        return f"{_text(expression.operand, level)} AS {', '.join(map(quoted, expression.names))}"
    if isinstance(expression, Call):
        return _call_text(expression, level)
    return summary(expression)


def _call_text(call: Call, level: int) -> str:
    arguments = call.arguments
    if call.name in _POSTFIX:
        return f"{_text(arguments[0], _LEVEL_OF['='] + 1)} {call.name.upper()}"
    if call.name == "-" and len(arguments) == 1:
        return f"-{_text(arguments[0], _HIGHEST)}"
    if call.name == "||":
        return " || ".join(_text(each, _HIGHEST) for each in arguments)
    if call.name == "not":
        return _inside(f"NOT {_text(arguments[0], _LEVEL_OF['not'] + 1)}", _LEVEL_OF["not"], level)
    if call.name in ("between", "not between"):
        operand, lower, upper = (_text(each, _LEVEL_OF["="] + 1) for each in arguments)
        return _inside(f"{operand} {call.name.upper()} {lower} AND {upper}", _LEVEL_OF["="], level)
    if call.name in ("in", "not in"):
        options = ", ".join(_text(each, 0) for each in arguments[1:])
        return f"{_text(arguments[0], _LEVEL_OF['='] + 1)} {call.name.upper()} ({options})"
    if call.name in _LEVEL_OF and len(arguments) > 1:
        own = _LEVEL_OF[call.name]
        first, *others = arguments
        parts = [_text(first, own), *(_text(each, own + 1) for each in others)]
        return _inside(f" {call.name.upper()} ".join(parts), own, level)
    if call.name == "at":
        return f"{_text(arguments[0], _HIGHEST)}[{_text(arguments[1], 0)}]"
    if call.name == "get":
        return f"{_text(arguments[0], _HIGHEST)}.{quoted(str(getattr(arguments[1], 'value', arguments[1])))}"
    return _plain_call_text(call)


def _plain_call_text(call: Call) -> str:
    if call.name in _BARE:
        return call.name.upper()
    name = ".".join(map(quoted, call.path)) if len(call.path) > 1 else call.name.upper()
    if call.name in ("array", "map"):
        return f"{name}[{', '.join(_text(each, 0) for each in call.arguments)}]"
    return f"{name}({', '.join(_text(each, 0) for each in call.arguments)})"


def _case_text(case: Case) -> str:
    operand = "" if case.operand is None else f" {_text(case.operand, 0)}"
    branches = (f" WHEN {_text(one, 0)} THEN {_text(other, 0)}" for one, other in case.branches)
    otherwise = "NULL" if case.otherwise is None else _text(case.otherwise, 0)
    return f"CASE{operand}{''.join(branches)} ELSE {otherwise} END"


def _inside(text: str, own: int, level: int) -> str:
    return f"({text})" if own < level else text


def _literal_text(literal: Literal) -> str:
    value: Any = literal.value
    if value is None:
        return "NULL"
    if isinstance(literal.type, DayTimeIntervalType):
        return _interval_text(value)
    if isinstance(literal.type, YearMonthIntervalType):
        count, unit = (value // 12, "YEAR") if value % 12 == 0 else (value, "MONTH")
        return f"INTERVAL '{count}' {unit}"
    if isinstance(literal.type, BinaryType):
        return f"X'{bytes(value).hex().upper()}'"
    for cls, word in ((DateType, "DATE"), (TimeType, "TIME"), (TimestampType, "TIMESTAMP")):
        if isinstance(literal.type, cls):
            return f"{word} '{_moment_text(value)}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _interval_text(millis: int) -> str:
    for size, unit in _DAY_UNITS:
        if millis and millis % size == 0:
            return f"INTERVAL '{millis // size}' {unit}"
    seconds, fraction = divmod(millis, 1000)
    return f"INTERVAL '{seconds}{f'.{fraction:03d}' if fraction else ''}' SECOND"


def _moment_text(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value.isoformat())
