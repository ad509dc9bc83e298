"""Tells which user functions may run anywhere, any number of times: those that hold nothing that can change.

A pure callable runs inside the ingest task. Everything else (function objects, closures over lists or instances,
functions that print) runs in a slot, where its fields live as long as the subtask.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterator
from typing import Any

_FROZEN = (type(None), bool, int, float, complex, str, bytes, frozenset, tuple, range, types.ModuleType, type)
_WITH_EFFECTS = frozenset({"print", "input", "open", "exec", "eval", "globals", "setattr"})
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def is_pure(function: Any) -> bool:
    """True if calling the function can neither read nor leave anything that changes between two calls."""
    return _is_frozen(function, set())


def _is_frozen(value: Any, seen: set[int]) -> bool:
    if id(value) in seen:
        return True
    seen.add(id(value))
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        bound_to = getattr(value, "__self__", None)
        return bound_to is None or isinstance(bound_to, _FROZEN)
    if isinstance(value, types.FunctionType):
        return _is_pure_function(value, seen)
    if isinstance(value, (tuple, frozenset)):
        return all(_is_frozen(item, seen) for item in value)
    return isinstance(value, _FROZEN)


def _is_pure_function(function: types.FunctionType, seen: set[int]) -> bool:
    codes = list(_codes(function.__code__))
    if any(_writes_outside(code) for code in codes):
        return False
    names = {name for code in codes for name in code.co_names}
    if any(name in _WITH_EFFECTS and name not in function.__globals__ for name in names):
        return False
    captured = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    used_globals = [function.__globals__[name] for name in names if name in function.__globals__]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return all(_is_frozen(value, seen) for value in (*captured, *used_globals, *defaults))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _writes_outside(code: types.CodeType) -> bool:
    import dis

    return any(
        instruction.opname in _WRITES and instruction.argval not in code.co_cellvars
        for instruction in dis.get_instructions(code)
    )


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not builtins
    except ValueError:
        return False
