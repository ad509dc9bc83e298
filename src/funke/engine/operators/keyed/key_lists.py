"""The keys of many records at once.

Most key selectors are `lambda row: row[0]`, or the record itself, or an attribute of it. Such a one is known by its
code, and what does the same without a call of Python's takes 0.02 instead of 0.08 µs per record.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
    CO_VARARGS,
    CO_VARKEYWORDS,
)
from operator import attrgetter, itemgetter
from types import CodeType, FunctionType
from typing import Any

from funke.engine.operators.keyed.key_functions import KeyFunction, TypedKey

__all__ = ["KeyList", "field_of_key", "key_list"]

KeyList = Callable[[list[Any]], list[Any]]

_KINDS_OF_CODE = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR
# Positions that newer versions of Python do not keep among a function's constants.
_POSITIONS = range(10)


def key_list(select: KeyFunction) -> KeyList:
    """The function that computes the keys of many records, as `select` does of one."""
    if isinstance(select, TypedKey):
        return _typed_list(select)
    if not isinstance(select, FunctionType):
        return lambda values: list(map(select, values))
    if _is_like("row", select.__code__):
        return lambda values: values
    quick = _getter(select.__code__)
    if quick is None:
        return lambda values: list(map(select, values))

    def keys(values: list[Any]) -> list[Any]:
        try:
            return list(map(quick, values))
        except Exception:
            return list(map(select, values))  # so that it fails in the user's own line

    return keys


def _typed_list(select: TypedKey) -> KeyList:
    keys, coerce = key_list(select.select), select.coerce
    return keys if coerce is None else lambda values: list(map(coerce, keys(values)))


def field_of_key(select: KeyFunction) -> int | str | None:
    """The position or the name of the field that a key selector gives; None if it does anything else."""
    if not isinstance(select, FunctionType):
        return None
    code = select.__code__
    position = _position(code)
    return _attribute(code) if position is None else position


def _getter(code: CodeType) -> KeyFunction | None:
    position, attribute = _position(code), _attribute(code)
    if position is not None:
        return itemgetter(position)
    return None if attribute is None else attrgetter(attribute)


def _position(code: CodeType) -> int | str | None:
    indices: tuple[Any, ...] = (*_POSITIONS, *code.co_consts)
    for index in indices:
        if isinstance(index, (int, str)) and not isinstance(index, bool) and _is_like(f"row[{index!r}]", code):
            return index
    return None


def _attribute(code: CodeType) -> str | None:
    names = code.co_names
    return names[0] if len(names) == 1 and _is_like(f"row.{names[0]}", code) else None


def _is_like(expression: str, code: CodeType) -> bool:
    """Whether a function of one parameter does nothing but compute the expression."""
    return _form(eval(f"lambda row: {expression}").__code__) == _form(code)


def _form(code: CodeType) -> tuple[Any, ...]:
    constants = [(type(constant), constant) for constant in code.co_consts]
    # Neither where a function stands nor the imports from __future__ of its file change what it does.
    flags = code.co_flags & _KINDS_OF_CODE
    parameters = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags, code.co_freevars
    return code.co_code, constants, code.co_names, parameters
