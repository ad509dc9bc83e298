"""JSON in texts: reading, testing and writing it."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from funke.engine.sql.functions.casts.value_casts import value_cast, value_text
from funke.engine.sql.functions.documents.json_paths import PathError, parse_path
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.types.logical import (
    APPROXIMATE,
    BINARY,
    LONGEST,
    NUMERIC,
    ArrayType,
    BitmapType,
    BooleanType,
    DataType,
    DoubleType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    VarCharType,
    VariantType,
    is_nullable,
    with_nullable,
)
from funke.engine.types.variant_text import shown_text

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body

__all__ = ["JSON"]

_STRING, _BOOLEAN = VarCharType(LONGEST), BooleanType()
_MISSING = object()


def _parse(text: str) -> Any:
    try:
        # Decimals keep the digits of the text. Python's parser takes NaN and Infinity, which JSON does not have.
        return json.loads(text, parse_float=Decimal, parse_constant=_reject)
    except ValueError:
        return _MISSING


def _reject(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


@dataclass(frozen=True)
class _Document:
    """JSON within JSON: its null is not SQL's NULL."""

    content: Any


@dataclass(frozen=True)
class _Raw:
    """JSON that is written already."""

    text: str


def _write(value: Any) -> str:
    """Return JSON without spaces, with numbers as they were."""
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, _Document):
        return _write(value.content)
    if isinstance(value, dict):
        # As in Flink, members are sorted by their names.
        members = sorted((str(key), _write(each)) for key, each in value.items())
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_write, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _write(value)


def _behaviour(arguments: Sequence[Any], index: int, default: str) -> str:
    return str(arguments[index]).upper() if len(arguments) > index and arguments[index] is not None else default


def _value_type(arguments: Sequence[Argument]) -> DataType:
    target = arguments[2].value if len(arguments) > 2 and isinstance(arguments[2].value, DataType) else _STRING
    return with_nullable(target, True)


def _value_body(call: BoundCall) -> Body:
    """JSON_VALUE (a, path[, type, on empty, default, on error, default])."""
    settings = [each.value if each.is_constant else None for each in call.arguments]
    on_empty, on_error = _behaviour(settings, 3, "NULL"), _behaviour(settings, 5, "NULL")
    # RETURNING casts the scalar's text, as Flink does.
    cast = value_cast(_STRING, call.result, call.session)

    def instead(behaviour: str, default: Any, reason: str) -> Any:
        if behaviour == "ERROR":
            raise ValueError(reason)
        return default if behaviour == "DEFAULT" else None

    def json_value(text: str | None, path: str | None, *others: Any) -> Any:
        if text is None or path is None:
            return None
        empty_default, error_default = (
            (others[2] if len(others) > 2 else None),
            (others[4] if len(others) > 4 else None),
        )
        document = _parse(text)
        parsed = parse_path(path)
        # Lax mode takes a broken document for an empty one (ON EMPTY), strict mode for an error (ON ERROR).
        if document is _MISSING and not parsed.is_strict:
            return instead(on_empty, empty_default, f"Invalid JSON: {text}")
        if document is _MISSING or document is None:
            return instead(on_error, error_default, f"Invalid JSON: {text}")
        try:
            values = parsed.find(document)
        except PathError as problem:
            return instead(on_error, error_default, str(problem))
        # In lax mode a missing member, an object and an array are all empty; strict mode makes errors of them.
        is_scalar = parsed.is_definite and bool(values) and not isinstance(values[0], (dict, list, type(None)))
        if (not values and parsed.is_definite) or not (is_scalar or parsed.is_strict):
            return instead(on_empty, empty_default, "Empty result of JSON_VALUE function is not allowed")
        if not is_scalar:
            return instead(on_error, error_default, "Strict jsonpath mode requires scalar value")
        try:
            return cast(_scalar_text(values[0]))
        except ValueError as problem:
            return instead(on_error, error_default, str(problem))

    return json_value


def _query_type(arguments: Sequence[Argument]) -> DataType:
    target = arguments[2].value if len(arguments) > 2 and isinstance(arguments[2].value, DataType) else _STRING
    return with_nullable(target, True)


def _query_body(call: BoundCall) -> Body:
    """JSON_QUERY (a, path[, type, wrapper, on empty, on error])."""
    settings = [each.value if each.is_constant else None for each in call.arguments]
    wrapper, on_empty = _behaviour(settings, 3, "WITHOUT ARRAY"), _behaviour(settings, 4, "NULL")
    on_error = _behaviour(settings, 5, "NULL")
    gives_array = isinstance(call.result, ArrayType)

    def instead(behaviour: str, reason: str) -> Any:
        if behaviour == "ERROR":
            raise ValueError(reason)
        if behaviour.startswith("EMPTY"):
            empty: Any = {} if "OBJECT" in behaviour else []
            return empty if gives_array else _write(empty)
        return None

    def json_query(text: str | None, path: str | None, *_: Any) -> Any:
        document = _MISSING if text is None else _parse(text)
        if text is None or path is None:
            return None
        parsed = parse_path(path)
        if document is _MISSING and not parsed.is_strict:
            return instead(on_empty, f"Invalid JSON: {text}")
        if document is _MISSING or document is None:
            return instead(on_error, f"Invalid JSON: {text}")
        try:
            values = parsed.find(document)
        except PathError as problem:
            return instead(on_error, str(problem))
        if not values and parsed.is_definite:
            return instead(on_empty, "Empty result of JSON_QUERY function is not allowed")
        if parsed.is_definite and values[0] is None:
            return instead(on_error if parsed.is_strict else on_empty, f"No results for path: {path}")
        value = _wrapped(values, parsed.is_definite, wrapper)
        if not (isinstance(value, (dict, list)) or parsed.is_strict):
            return instead(on_empty, "Empty result of JSON_QUERY function is not allowed")
        if not isinstance(value, list if gives_array else (dict, list)):
            return instead(on_error, "Strict jsonpath mode requires array or object value")
        if gives_array:
            return [None if each is None else _scalar_text(each) for each in value]
        return _write(value)

    return json_query


def _wrapped(values: list[Any], is_definite: bool, wrapper: str) -> Any:
    value = values[0] if is_definite else values
    if wrapper.startswith("WITHOUT"):
        return value
    # CONDITIONAL wraps all but arrays.
    return value if "UNCONDITIONAL" not in wrapper and isinstance(value, list) else [value]


def _exists(text: str | None, path: str, on_error: str = "FALSE") -> bool | None:
    if text is None:
        return None
    document = _parse(text)
    try:
        parsed = parse_path(path)
        if document is _MISSING and not parsed.is_strict:
            return False
        if document is _MISSING or document is None:
            raise PathError(f"Invalid JSON: {text}")
        values = parsed.find(document)
        if parsed.is_strict and parsed.is_definite and values == [None]:
            raise PathError(f"No results for path: {path}")
        # Many values are an array, which is there even if it is empty.
        return bool(values) or not parsed.is_definite
    except PathError:
        if on_error.upper() == "ERROR":
            raise
        return {"TRUE": True, "FALSE": False}.get(on_error.upper())


_IS_JSON: dict[str, Callable[[Any], bool]] = {
    "VALUE": lambda value: True,
    "OBJECT": lambda value: isinstance(value, dict),
    "ARRAY": lambda value: isinstance(value, list),
    "SCALAR": lambda value: not isinstance(value, (dict, list)),
}


def _is_json(kind: str, is_negated: bool) -> Callable[[str | None], bool]:
    matches = _IS_JSON[kind]

    def is_json(text: str | None) -> bool:
        document = _MISSING if text is None else _parse(text)
        return (document is not _MISSING and matches(document)) != is_negated

    return is_json


def _json_form(data_type: Any, call: BoundCall) -> Callable[[Any], Any]:
    """Return the conversion of values of a type to those of JSON."""
    if isinstance(data_type, APPROXIMATE):
        # A FLOAT has the digits of a DOUBLE then, and a zero has no sign.
        text = value_text(DoubleType(), call.session)
        return lambda value: Decimal(text(value + 0.0)) if math.isfinite(value) else text(value)
    if isinstance(data_type, (BooleanType, NullType, *NUMERIC)):
        return lambda value: value
    if isinstance(data_type, ArrayType):
        element = _part(data_type.element_type, call)
        return lambda items: [element(each) for each in items]
    if isinstance(data_type, (MapType, MultisetType)):
        # A multiset is an object of counts.
        value_type = data_type.value_type if isinstance(data_type, MapType) else None
        value = _part(value_type, call) if value_type is not None else lambda v: v
        return lambda items: {key: value(each) for key, each in items.items()}
    if isinstance(data_type, RowType):
        fields = [(each.name, _part(each.data_type, call)) for each in data_type]
        return lambda row: {name: part(each) for (name, part), each in zip(fields, row)}
    if isinstance(data_type, BINARY):
        # As Jackson writes bytes.
        return lambda value: base64.b64encode(value).decode()
    text = value_text(data_type, call.session)
    return lambda value: _iso_text(value) if isinstance(value, datetime.datetime) else text(value)


def _iso_text(timestamp: datetime.datetime) -> str:
    """A timestamp with as many digits of the second's fraction as it has."""
    return re.sub(r"(\.\d*?)0+(?=[+-]|$)", r"\1", timestamp.isoformat())


def _part(data_type: DataType, call: BoundCall) -> Callable[[Any], Any]:
    form = _json_form(data_type, call)
    return lambda value: None if value is None else form(value)


def _string_type(arguments: Sequence[Argument]) -> DataType | None:
    input_type = arguments[0].type
    return None if isinstance(input_type, BitmapType) else with_nullable(_STRING, is_nullable(input_type))


def _string_body(call: BoundCall) -> Body:
    form = _member(call.arguments[0], call)
    return lambda value: _write(form(value))


def _member(argument: Argument, call: BoundCall) -> Callable[[Any], Any]:
    """The conversion of an argument to a part of JSON; JSON is taken as it is."""
    if argument.is_json:
        return lambda text: None if text is None else _Document(_parse(text))
    if isinstance(argument.type, VariantType):
        return lambda stored: None if stored is None else _Raw(shown_text(stored))
    return _part(argument.type, call)


def _object_body(call: BoundCall) -> Body:
    """JSON_OBJECT (NULL | ABSENT, key, value, …)."""
    forms = [_member(each, call) for each in call.arguments[2::2]]

    def json_object(on_null: str, *parts: Any) -> str:
        # Of equal keys the last one counts.
        pairs = {key: form(value) for key, value, form in zip(parts[::2], parts[1::2], forms)}
        is_absent = on_null.upper() == "ABSENT"
        return _write({key: value for key, value in pairs.items() if value is not None or not is_absent})

    return json_object


def _array_body(call: BoundCall) -> Body:
    forms = [_member(each, call) for each in call.arguments[1:]]

    def json_array(on_null: str, *values: Any) -> str:
        items = [form(each) for form, each in zip(forms, values)]
        return _write([each for each in items if each is not None or on_null.upper() != "ABSENT"])

    return json_array


def _json(text: str) -> str:
    if _parse(text) is _MISSING:
        raise ValueError(f"Invalid JSON: {text}")
    return text


def _quote(text: str) -> str:
    return json.dumps(text)


def _unquote(text: str) -> str:
    document = _parse(text) if text.startswith('"') and text.endswith('"') else _MISSING
    return document if isinstance(document, str) else text


def _not_null(arguments: Sequence[Argument]) -> DataType:
    return with_nullable(_STRING, False)


def _tests() -> tuple[Function, ...]:
    tests = []
    for is_negated in (False, True):
        for kind in _IS_JSON:
            start = "is not json" if is_negated else "is json"
            names = (start, f"{start} value") if kind == "VALUE" else (f"{start} {kind.lower()}",)
            purpose = (
                f"Whether a text is {'not ' if is_negated else ''}"
                f"{'JSON' if kind == 'VALUE' else f'a JSON {kind.lower()}'}."
            )
            body = _is_json(kind, is_negated)
            tests.append(Function(names, "text", BooleanType(False), body, is_strict=False, purpose=purpose))
    return tuple(tests)


JSON: tuple[Function, ...] = (
    Function(
        ("json_value",),
        "text, text | text, text, symbol, symbol, any, symbol, any",
        _value_type,
        body_for=_value_body,
        is_strict=False,
        purpose="The scalar at a path, as a text or another type.",
    ),
    Function(
        ("json_query",),
        "text, text | text, text, symbol, symbol, symbol, symbol",
        _query_type,
        body_for=_query_body,
        is_strict=False,
        purpose="The object or array at a path.",
    ),
    Function(
        ("json_exists",),
        "text, text, symbol?",
        lambda arguments: _BOOLEAN,
        _exists,
        is_strict=False,
        purpose="Whether a path leads somewhere.",
    ),
    *_tests(),
    Function(("json_string",), "any", _string_type, body_for=_string_body, purpose="A value as JSON."),
    Function(
        ("json_object",),
        "symbol | symbol, any, any...",
        _not_null,
        body_for=_object_body,
        is_strict=False,
        purpose="The JSON object of keys and values; a NULL is kept or left out.",
    ),
    Function(
        ("json_array",),
        "symbol | symbol, any...",
        _not_null,
        body_for=_array_body,
        is_strict=False,
        purpose="The JSON array of some values; a NULL is kept or left out.",
    ),
    Function(("json",), "text", _STRING, _json, purpose="A text that is JSON, for JSON_OBJECT and JSON_ARRAY."),
    Function(("json_quote",), "text", _STRING, _quote, purpose="A text as JSON, with quotes."),
    Function(("json_unquote",), "text", _STRING, _unquote, purpose="The text of a JSON text; others stay as they are."),
)
