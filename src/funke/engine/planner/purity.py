"""Tells which user functions may run anywhere, any number of times: those that hold nothing that can change.

A pure callable runs inside the ingest task. Everything else (function objects, closures over lists or instances,
functions that print) runs in a slot, where its fields live as long as the subtask. When in doubt, a function is not
pure: that costs time, never results.
"""

from __future__ import annotations

import datetime
import decimal
import dis
import enum
import functools
import operator
import re
import sys
import types
import uuid
from collections.abc import Iterator
from typing import Any

_FROZEN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    enum.Enum,
    re.Pattern,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    uuid.UUID,
    operator.itemgetter,
    operator.attrgetter,
    operator.methodcaller,
)
_BUILTIN_FUNCTIONS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_WITH_EFFECTS = frozenset(
    {"print", "input", "open", "exec", "eval", "globals", "vars", "setattr", "delattr", "__import__", "breakpoint"}
)
_WRITES_OUTSIDE = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"})
_WRITES_ATTRIBUTES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_OUTPUT_STREAMS = frozenset({"stdout", "stderr", "stdin"})
_WRITING_MODULES = frozenset({"logging", "pprint", "warnings"})
_TRUSTED_PACKAGES = sys.stdlib_module_names | {"funke"}


def is_pure(function: Any) -> bool:
    """True if calling the function can neither read nor leave anything that changes between two calls."""
    return callable(function) and _is_frozen(function, set())


def _is_frozen(value: Any, seen: set[int]) -> bool:
    if id(value) in seen:
        return True
    seen.add(id(value))
    if isinstance(value, _BUILTIN_FUNCTIONS):
        return _is_harmless_builtin(value, seen)
    if isinstance(value, types.FunctionType):
        return _is_trusted(value) or _is_pure_function(value, seen)
    if isinstance(value, functools.partial):
        return all(_is_frozen(part, seen) for part in (value.func, *value.args, *value.keywords.values()))
    if isinstance(value, (tuple, frozenset)):
        return all(_is_frozen(item, seen) for item in value)
    if isinstance(value, types.ModuleType):
        return value.__name__ not in _WRITING_MODULES
    return isinstance(value, (*_FROZEN, type))


def _is_harmless_builtin(value: Any, seen: set[int]) -> bool:
    bound_to = getattr(value, "__self__", None)
    return value.__name__ not in _WITH_EFFECTS and (bound_to is None or _is_frozen(bound_to, seen))


def _is_pure_function(function: types.FunctionType, seen: set[int]) -> bool:
    codes = list(_codes(function.__code__))
    used_globals = [function.__globals__[name] for name in _global_names(codes) if name in function.__globals__]
    captured = [*_closure_values(function), *used_globals]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return (
        not _has_effects(function, codes)
        and all(_is_frozen(value, seen) for value in (*captured, *defaults))
        and all(_is_untouched(value, codes, seen) for value in captured)
    )


def _has_effects(function: types.FunctionType, codes: list[types.CodeType]) -> bool:
    called = {name for name in _global_names(codes) if name not in function.__globals__}
    attributes = {name for code in codes for name in code.co_names}
    return (
        bool(called & _WITH_EFFECTS)
        or bool(attributes & _OUTPUT_STREAMS)
        or any(
            instruction.opname in _WRITES_OUTSIDE and instruction.argval not in code.co_cellvars
            for code in codes
            for instruction in dis.get_instructions(code)
        )
    )


def _is_untouched(holder: Any, codes: list[types.CodeType], seen: set[int]) -> bool:
    """Whether a class, module or function that the code can reach keeps its attributes as they are.

    `Counter.total += 1` and `settings.seen.append(x)` leave something behind although the name itself never changes.
    """
    if not isinstance(holder, (type, types.ModuleType, types.FunctionType)) or _is_trusted(holder):
        return True
    if any(instruction.opname in _WRITES_ATTRIBUTES for code in codes for instruction in dis.get_instructions(code)):
        return False
    names = {name for code in codes for name in code.co_names}
    reached = [value for name, value in vars(holder).items() if name in names]
    return all(_is_frozen(_unwrapped(value), seen) for value in reached)


def _unwrapped(value: Any) -> Any:
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _is_trusted(value: Any) -> bool:
    """Whether it comes with Python or an installed package, whose functions are taken to keep nothing."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
    if name.partition(".")[0] in _TRUSTED_PACKAGES - _WRITING_MODULES:
        return True
    path = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in path or "dist-packages" in path


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _global_names(codes: list[types.CodeType]) -> set[str]:
    return {
        instruction.argval
        for code in codes
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def _closure_values(function: types.FunctionType) -> list[Any]:
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # a name that is not bound yet
            continue
    return values
