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
from funke.engine.sql.syntax.sql_call_forms import SPELLED, call_form
from funke.engine.sql.syntax.text_form import IN_CAPITALS, summary
from funke.engine.types.logical import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DayTimeIntervalType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    quoted,
    to_sql_text,
)

__all__ = ["declared_form", "schema_form", "sql_form"]

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
# Functions that Flink itself defines, and Calcite does not, stand in back quotes.
_QUOTED = {**{name: name.upper() for name in IN_CAPITALS}, "translate": "TRANSLATE3", "translate3": "TRANSLATE3"}
_QUOTED |= {name: name.upper() for name in ("greatest", "least", "typeof")}
# Defaults that are not written out.
_DEFAULTS = {"DECIMAL(10, 0)": "DECIMAL", "TIME(0)": "TIME", "TIMESTAMP(6)": "TIMESTAMP"}
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


def schema_form(expression: Expression) -> str:
    """Return an expression of a schema: what a program gave as an object is shown as PyFlink shows it."""
    return summary(expression) if expression.position is None else sql_form(expression)


def declared_form(expression: Expression) -> str:
    """Return the same as DESCRIBE has it: a text that a program gave is shown as it is."""
    if isinstance(expression, Call) and expression.name == "call_sql":
        (text,) = expression.arguments
        assert isinstance(text, Literal)
        return str(text.value)
    return schema_form(expression)


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
        return _type_text(expression.type)
    if isinstance(expression, Cast):
        name = "TRY_CAST" if expression.is_safe else "CAST"
        return f"{name}({_text(expression.operand, 0)} AS {_type_text(expression.type)})"
    if isinstance(expression, Case):
        return _case_text(expression)
    if isinstance(expression, Alias):
        return f"{_text(expression.operand, level)} AS {', '.join(map(quoted, expression.names))}"
    if isinstance(expression, Call):
        return _call_text(expression, level)
    return summary(expression)


def _call_text(call: Call, level: int) -> str:
    arguments = call.arguments
    if call.name == "-" and len(arguments) == 1:
        between = "" if isinstance(arguments[0], Literal) else " "
        return f"-{between}{_text(arguments[0], _HIGHEST)}"
    if call.name in ("like", "not like", "similar to", "not similar to") and len(arguments) == 3:
        operand, pattern, escape = (_text(each, _LEVEL_OF["="] + 1) for each in arguments)
        return _inside(f"{operand} {call.name.upper()} {pattern} ESCAPE {escape}", _LEVEL_OF["="], level)
    if call.name == "||":
        return " || ".join(_text(each, _HIGHEST) for each in arguments)
    if call.name == "not":
        return _inside(f"NOT {_text(arguments[0], _LEVEL_OF['not'] + 1)}", _LEVEL_OF["not"], level)
    if call.name in ("between", "not between"):
        operand, lower, upper = (_text(each, _LEVEL_OF["="] + 1) for each in arguments)
        return _inside(f"{operand} {call.name.upper()} ASYMMETRIC {lower} AND {upper}", _LEVEL_OF["="], level)
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
    spelled = call_form(call.name, arguments, tuple(_text(each, _LEVEL_OF["="]) for each in arguments))
    return _plain_call_text(call) if spelled is None else spelled


def _plain_call_text(call: Call) -> str:
    if call.name in _BARE:
        return call.name.upper()
    name = ".".join(map(quoted, call.path)) if len(call.path) > 1 else _function_name(call.name)
    if call.name in ("array", "map"):
        return f"{name}[{', '.join(_text(each, 0) for each in call.arguments)}]"
    return f"{name}({', '.join(_text(each, 0) for each in call.arguments)})"


def _function_name(name: str) -> str:
    quoted_name = None if name in (*SPELLED, "coalesce", "like") else _QUOTED.get(name)
    return name.upper() if quoted_name is None else quoted(quoted_name)


def _type_text(data_type: DataType) -> str:
    """Return a type as Calcite spells it: INTEGER, and spaces within angle brackets."""
    tail = "" if data_type._nullable else " NOT NULL"
    if isinstance(data_type, IntType):
        return f"INTEGER{tail}"
    if isinstance(data_type, ArrayType | MultisetType):
        name = "ARRAY" if isinstance(data_type, ArrayType) else "MULTISET"
        return f"{name}< {_type_text(data_type.element_type)} >{tail}"
    if isinstance(data_type, MapType):
        return f"MAP< {_type_text(data_type.key_type)}, {_type_text(data_type.value_type)} >{tail}"
    if isinstance(data_type, RowType):
        fields = ", ".join(f"{quoted(each.name)} {_type_text(each.data_type)}" for each in data_type)
        return f"ROW< {fields} >{tail}"
    text = to_sql_text(data_type)
    return _DEFAULTS.get(text.removesuffix(tail), text.removesuffix(tail)) + tail


def _case_text(case: Case) -> str:
    """An operand is compared with each value."""
    operand = "" if case.operand is None else f"{_text(case.operand, _LEVEL_OF['='])} = "
    branches = (f" WHEN {operand}{_text(one, 0)} THEN {_text(other, 0)}" for one, other in case.branches)
    otherwise = "NULL" if case.otherwise is None else _text(case.otherwise, 0)
    return f"CASE{''.join(branches)} ELSE {otherwise} END"


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
            return f"{word} '{_timestamp_text(value)}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return _scientific_text(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _scientific_text(value: float) -> str:
    """1E3, 1.5E-7."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *others = map(str, digits)
    fraction = f".{''.join(others)}" if others else ""
    return f"{'-' if sign else ''}{first}{fraction}E{exponent + len(others)}"


def _interval_text(millis: int) -> str:
    for size, unit in _DAY_UNITS:
        if millis and millis % size == 0:
            return f"INTERVAL '{millis // size}' {unit}"
    seconds, fraction = divmod(millis, 1000)
    return f"INTERVAL '{seconds}{f'.{fraction:03d}' if fraction else ''}' SECOND"


def _timestamp_text(value: Any) -> str:
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value.isoformat())
