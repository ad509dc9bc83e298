"""Expressions as text, in the form that PyFlink's `str(expression)` has: `plus(a, 1)`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from funke.engine.sql.syntax.expressions import (
    Alias,
    Call,
    Case,
    Cast,
    Expression,
    InQuery,
    Literal,
    Name,
    OrderItem,
    Star,
    Symbol,
    TypeArgument,
)
from funke.engine.types.logical.sql_text import quoted, to_sql_text

__all__ = ["DEFINITION_NAMES", "IN_CAPITALS", "summary"]

# Flink shows a function by the name of its definition. Those that are not listed here are shown as they are.
DEFINITION_NAMES = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "divide",
    "%": "mod",
    "=": "equals",
    "<>": "notEquals",
    "<": "lessThan",
    ">": "greaterThan",
    "<=": "lessThanOrEqual",
    ">=": "greaterThanOrEqual",
    "is null": "isNull",
    "is not null": "isNotNull",
    "is true": "isTrue",
    "is false": "isFalse",
    "is not true": "isNotTrue",
    "is not false": "isNotFalse",
    "not between": "notBetween",
    "similar to": "similar",
    "overlaps": "temporalOverlaps",
    "window_start": "start",
    "window_end": "end",
    "range": "rangeTo",
    "with_columns": "withColumns",
    "without_columns": "withoutColumns",
    "stddev_pop": "stddevPop",
    "stddev_samp": "stddevSamp",
    "var_pop": "varPop",
    "var_samp": "varSamp",
    "listagg": "listAgg",
    "char_length": "charLength",
    "initcap": "initCap",
    "regexp_extract": "regexpExtract",
    "regexp_replace": "regexpReplace",
    "from_base64": "fromBase64",
    "to_base64": "toBase64",
    "parse_url": "parseUrl",
    "split_index": "splitIndex",
    "str_to_map": "strToMap",
    "rand_integer": "randInteger",
    "current_database": "currentDatabase",
    "current_date": "currentDate",
    "current_time": "currentTime",
    "current_timestamp": "currentTimestamp",
    "localtime": "localTime",
    "localtimestamp": "localTimestamp",
    "date_format": "dateFormat",
    "timestampdiff": "timestampDiff",
    "convert_tz": "convertTz",
    "from_unixtime": "fromUnixtime",
    "unix_timestamp": "unixTimestamp",
    "to_date": "toDate",
    "to_timestamp": "toTimestamp",
    "translate": "TRANSLATE3",
}
# Definitions of later versions of Flink have their SQL names, in capitals.
_CAPITALS = (
    "ifnull map_keys map_values map_union map_entries map_from_arrays source_watermark coalesce array_append "
    "array_contains array_sort array_distinct array_position array_prepend array_remove array_reverse "
    "array_slice array_union array_concat array_max array_join array_min split url_decode url_encode "
    "inet_aton inet_ntoa array_except array_intersect array_agg percentile like startswith endswith "
    "regexp_count regexp_extract_all regexp_instr regexp_substr json_quote json_unquote printf btrim elt "
    "object_of object_update unhex to_timestamp_ltz current_watermark json_exists json_value json_query json_string "
    "json_object json_array json bitmap_and bitmap_andnot bitmap_and_agg bitmap_and_cardinality_agg "
    "bitmap_build bitmap_build_agg bitmap_build_cardinality_agg bitmap_cardinality bitmap_from_bytes "
    "bitmap_or bitmap_or_agg bitmap_or_cardinality_agg bitmap_to_array bitmap_to_bytes bitmap_to_string "
    "bitmap_xor bitmap_xor_agg bitmap_xor_cardinality_agg"
)
IN_CAPITALS = frozenset(_CAPITALS.split())
_WINDOW_BOUNDS = frozenset({"unbounded_row", "unbounded_range", "current_row", "current_range"})


def summary(expression: Expression) -> str:
    """Return an expression as PyFlink shows it.

    >>> summary(Call("+", (Name(("a",)), Name(("b",)))))
    'plus(a, b)'
    """
    if isinstance(expression, Call):
        return _call_text(expression)
    if isinstance(expression, Literal):
        return _value_text(expression.value)
    if isinstance(expression, Name):
        return ".".join(expression.parts)
    if isinstance(expression, Symbol):
        return expression.name.replace(" ", "_")
    if isinstance(expression, TypeArgument):
        return to_sql_text(expression.type)
    if isinstance(expression, Star):
        return ".".join((*expression.table, "*"))
    return _shaped(*_parts(expression))


def _parts(expression: Expression) -> tuple[Any, ...]:
    """Return the name and the arguments of an expression that Flink writes as a call."""
    if isinstance(expression, Cast):
        return "TRY_CAST" if expression.is_safe else "cast", expression.operand, to_sql_text(expression.type)
    if isinstance(expression, Alias):
        return "as", expression.operand, *map(_value_text, expression.names)
    if isinstance(expression, OrderItem):
        return "asc" if expression.is_ascending else "desc", expression.operand
    if isinstance(expression, Case) and expression.operand is None and len(expression.branches) == 1:
        return "ifThenElse", *expression.branches[0], expression.otherwise
    if isinstance(expression, InQuery):
        return "in", expression.left, "(…)"
    # What only SQL has, and PyFlink therefore never shows.
    return type(expression).__name__, repr(expression)


def _call_text(call: Call) -> str:
    text = _bare_call_text(call)
    if call.is_distinct:
        text = f"distinct({text})"
    if call.over is not None:
        text = f"over({text}, {call.over})"
    return text


def _bare_call_text(call: Call) -> str:
    name, arguments = call.name, call.arguments
    if call.path or call.function is not None:
        return _shaped(".".join(call.path), *_with_names(call))
    if name in _WINDOW_BOUNDS:
        return name.upper()
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    if name.startswith("is json "):
        kind = name.removeprefix("is json ")
        return _shaped("IS_JSON", *arguments, *(() if kind == "value" else (kind.upper(),)))
    shown_name = name.upper() if name in IN_CAPITALS else DEFINITION_NAMES.get(name, name)
    return _shaped(shown_name, *_with_names(call))


def _with_names(call: Call) -> tuple[Any, ...]:
    """Return the arguments; those with a name as Flink shows an assignment."""
    first_named = len(call.arguments) - len(call.argument_names)
    named = (
        f"ASSIGNMENT({_value_text(name)}, {summary(argument)})"
        for name, argument in zip(call.argument_names, call.arguments[first_named:])
    )
    return (*call.arguments[:first_named], *named)


def _shaped(name: str, *arguments: Any) -> str:
    strings = (each if isinstance(each, str) else summary(each) for each in arguments)
    return f"{name}({', '.join(strings)})"


def _minus_text(arguments: tuple[Expression, ...]) -> str:
    return _shaped("minusPrefix" if len(arguments) == 1 else "minus", *arguments)


def _trim_text(arguments: tuple[Expression, ...]) -> str:
    """Flink shows whether the beginning and the end are trimmed, and of what."""
    side, removed, operand = arguments if len(arguments) == 3 else (Symbol("BOTH"), Literal(" ", _NO_TYPE), *arguments)
    name = side.name if isinstance(side, Symbol) else "BOTH"
    sides = (_value_text(name in ("BOTH", one)) for one in ("LEADING", "TRAILING"))
    return _shaped("trim", *sides, removed, operand)


def _json_aggregate_text(name: str, arguments: tuple[Expression, ...]) -> str:
    """As in Flink the name of such an aggregate says whether NULLs are kept."""
    return _shaped(f"{name}_{summary(arguments[0])}_ON_NULL", *arguments[1:])


_SPECIAL: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "-": _minus_text,
    "trim": _trim_text,
    "json_objectagg": lambda arguments: _json_aggregate_text("JSON_OBJECTAGG", arguments),
    "json_arrayagg": lambda arguments: _json_aggregate_text("JSON_ARRAYAGG", arguments),
    "as_argument": lambda arguments: _shaped("ASSIGNMENT", *reversed(arguments)),
    "descriptor": lambda arguments: f"DESCRIPTOR({', '.join(quoted(summary(each)) for each in arguments)})",
    "call_sql": lambda arguments: f"[{arguments[0].value}]",
}
# The value alone is shown.
_NO_TYPE: Any = None


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return f"[{', '.join(str((byte + 128) % 256 - 128) for byte in value)}]"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
