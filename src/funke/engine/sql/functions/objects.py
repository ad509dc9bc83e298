"""Functions of structured types: objects are rows whose type has the name of a class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from funke.engine.errors import TypeMismatchError
from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.types.logical import CHARACTER, DataType, RowField, StructuredType, to_sql_text

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body
    from funke.engine.types.logical import SqlValue

__all__ = ["OBJECTS"]

_CLASS_NAME = re.compile(r"[^\W\d][\w$]*(\.[^\W\d][\w$]*)*")


def _object_type(arguments: Sequence[Argument]) -> DataType | None:
    if len(arguments) % 2 == 0:
        return None
    name = arguments[0].value
    if not isinstance(name, str):
        raise TypeMismatchError(
            "The first argument must be a non-nullable character string literal representing the class name."
        )
    if not _CLASS_NAME.fullmatch(name):
        raise TypeMismatchError(f"Invalid class name '{name}'. The class name must comply with JVM identifier rules.")
    return StructuredType(name, [RowField(key, value.type) for key, value in _pairs(arguments)])


def _updated_type(arguments: Sequence[Argument]) -> DataType | None:
    input_type = arguments[0].type
    if len(arguments) % 2 == 0:
        return None
    if not isinstance(input_type, StructuredType):
        raise TypeMismatchError(f"The first argument must be a structured type, but was {to_sql_text(input_type)}.")
    changed = dict(_pairs(arguments))
    unknown = next((key for key in changed if key not in input_type.names), None)
    if unknown is not None:
        index = 2 + 2 * list(changed).index(unknown)
        raise TypeMismatchError(
            f"The field name '{unknown}' at position {index} is not part of the structured type attributes. Available "
            f"attributes: [{', '.join(input_type.names)}]."
        )
    fields = [
        RowField(each.name, changed[each.name].type if each.name in changed else each.data_type) for each in input_type
    ]
    return StructuredType(input_type.class_name, fields, input_type._nullable)


def _pairs(arguments: Sequence[Argument]) -> list[tuple[str, Argument]]:
    """The names of fields, which are constants and there once, with the arguments behind them."""
    pairs: dict[str, Argument] = {}
    for number, (key, value) in enumerate(zip(arguments[1::2], arguments[2::2])):
        index = 2 + 2 * number
        if not isinstance(key.type, CHARACTER):
            raise TypeMismatchError(
                f"The field key at position {index} must be a non-nullable character string, but was "
                f"{to_sql_text(key.type)}."
            )
        if not isinstance(key.value, str):
            raise TypeMismatchError(
                f"The field key at position {index} must be a non-nullable character string literal."
            )
        if key.value in pairs:
            raise TypeMismatchError(f"The field name '{key.value}' at position {index} is repeated.")
        pairs[key.value] = value
    return list(pairs.items())


def _updating_body(call: BoundCall) -> Body:
    assert isinstance(call.result, StructuredType)
    indexes = [call.result.names.index(name) for name, _ in _pairs(call.arguments)]

    def updated(fields: SqlValue, *parts: SqlValue) -> SqlValue:
        if fields is None:
            return None
        values = list(fields)
        for index, value in zip(indexes, parts[1::2]):
            values[index] = value
        return tuple(values)

    return updated


OBJECTS: tuple[Function, ...] = (
    Function(
        ("object_of",),
        "any | any, any...",
        _object_type,
        lambda name, *parts: parts[1::2],
        is_strict=False,
        purpose="The object of a class whose name comes first, then names of fields and values in turn.",
    ),
    Function(
        ("object_update",),
        "any | any, any...",
        _updated_type,
        body_for=_updating_body,
        is_strict=False,
        purpose="The object with other values in the fields that are named; NULL if it is NULL.",
    ),
)
