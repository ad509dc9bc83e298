"""A kernel: a small loop over arrays with a plain body, which runs as it is and compiled to machine code.

The types of its parameters are those of the compiled form: arrays without bounds (`Int64s` …), `int` and `float` of 64
bits. The body may use numbers, arrays, `range`, NumPy's scalar types and functions marked with `part`; it must not
raise. Indexes are not checked, and a negative one does not count from the end.

A kernel is loaded when enough rows have asked for it, so that small jobs pay nothing: looking for it imports LLVM
(35 ms). If there is no machine code yet, it is made in the background (see `machine_code`), and the caller goes on
without.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "Float64s",
    "Int32s",
    "Int64s",
    "Kernel",
    "Memory",
    "UInt8s",
    "UInt32s",
    "address",
    "bytes_at",
    "doubles_at",
    "floats_at",
    "halves_at",
    "kernel",
    "part",
    "shorts_at",
    "words_at",
]

_log = logging.getLogger(__name__)

# Arrays of one dimension, without gaps.
Int64s = Any
Int32s = Any
UInt32s = Any
UInt8s = Any
Float64s = Any

_ARRAYS = {"Int64s": "int64", "Int32s": "int32", "UInt32s": "uint32", "UInt8s": "uint8", "Float64s": "float64"}
_SCALARS: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double, "None": None}
# Before that many rows the forms without LLVM are as fast as its import.
_ROWS_BEFORE_LOADING = 200_000
_LOOK_INTERVAL_S = 0.25
# A row costs the plain body as much as so many rows cost NumPy.
_PLAIN_WEIGHT = 10

Native = Callable[..., Any]
_registry: dict[str, Kernel] = {}


class Kernel:
    """Calling it runs the plain body; `compiled` gives the machine code, which takes addresses of arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        annotations = dict(function.__annotations__)
        self.result: str = annotations.pop("return")
        self.parameters: tuple[str, ...] = tuple(annotations.values())
        unknown = {self.result, *self.parameters} - {*_ARRAYS, *_SCALARS}
        if unknown:
            raise TypeError(f"kernel '{self.name}' has parameters of types that kernels do not have: {unknown}")
        self._native: Native | None = None
        self._is_open = True
        self._rows = 0
        self._next_look_s = 0.0

    def __call__(self, *arguments: Any) -> Any:
        # As in the compiled form, numbers that are too large lose their highest bits.
        with np.errstate(over="ignore"):
            return self.function(*arguments)

    def compiled(self, rows: int) -> Native | None:
        """The machine code, if it is ready; `rows` says for how many rows it is wanted now."""
        native = self._native
        if native is None and self._is_open:
            self._rows += rows
            if self._rows >= _ROWS_BEFORE_LOADING and time.monotonic() >= self._next_look_s:
                self._next_look_s = time.monotonic() + _LOOK_INTERVAL_S
                native = self._look()
        return native

    def run(self, rows: int, *arguments: Any) -> Any:
        """Runs the machine code if it is ready, else the plain body; `rows` says for how many rows."""
        native = self._native or self.compiled(rows * _PLAIN_WEIGHT)
        types = self._types
        if native is None:
            # Views give Python's numbers, with which the body is three times as fast as with NumPy's.
            return self.function(
                *[each if dtype is None else memoryview(each) for each, dtype in zip(arguments, types)]
            )
        return native(*[each if dtype is None else address(each, dtype) for each, dtype in zip(arguments, types)])

    def _look(self) -> Native | None:
        from funke.engine.kernels.machine_code import Unavailable, load

        try:
            address = load(self.name)
        except Unavailable as error:
            self._is_open = False
            _warn_once(str(error))
            return None
        if address is not None:
            self.attach(address)
        return self._native

    def attach(self, address: int) -> None:
        """Machine code stands at this address: from now on it is used."""
        arguments = [_SCALARS.get(each, ctypes.c_void_p) for each in self.parameters]
        # With the interpreter's lock held: a batch takes microseconds.
        self._native = ctypes.PYFUNCTYPE(_SCALARS[self.result], *arguments)(address)

    @functools.cached_property
    def _types(self) -> list[np.dtype[Any] | None]:
        return [None if each is None else np.dtype(each) for each in self.element_types]

    @functools.cached_property
    def element_types(self) -> list[str | None]:
        """For each parameter, NumPy's name of what an array holds; None for numbers."""
        return [_ARRAYS.get(each) for each in self.parameters]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Makes a function a kernel."""
    new_kernel = Kernel(function)
    if new_kernel.name in _registry:
        raise TypeError(f"there are two kernels '{new_kernel.name}'")
    _registry[new_kernel.name] = new_kernel
    return new_kernel


def find_kernel(name: str) -> Kernel | None:
    """A kernel by its name, as far as its module is loaded."""
    return _registry.get(name)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function one that kernels may call."""
    function.is_part = True  # type: ignore[attr-defined]
    return function


class Memory:
    """An array that begins at an address, which may be 0 if none of them is looked at."""

    def __init__(self, element: str) -> None:
        self.element = element
        self._kind = np.ctypeslib.as_ctypes_type(np.dtype(element)) * (1 << 40)

    def __call__(self, address: Any) -> Any:
        return np.ctypeslib.as_array(self._kind.from_address(int(address))) if address else None


words_at, halves_at, shorts_at, bytes_at = map(Memory, ("int64", "int32", "int16", "uint8"))
doubles_at, floats_at = map(Memory, ("float64", "float32"))


def address(array: Any, dtype: Any) -> int:
    """Where the elements of an array begin; the array must live until the machine code has returned."""
    # Machine code sees no types: another one would be read as garbage. Most of NumPy's types are one object each.
    if (array.dtype is not dtype and array.dtype != dtype) or not array.flags.c_contiguous:
        raise TypeError(f"a kernel takes an array of {np.dtype(dtype)} without gaps, not of {array.dtype}")
    address: int = _address_of(array)
    return address


_HEADER_BYTES = object.__basicsize__
_pointer_at = ctypes.c_size_t.from_address


def _address_in_header(array: Any) -> Any:
    # NumPy's binary interface has it first behind the header of every object: 0.2 µs in place of 2.
    return _pointer_at(id(array) + _HEADER_BYTES).value


def _address_by_interface(array: Any) -> Any:
    return array.ctypes.data


_probe: Any = np.empty(8, np.int64)
_address_of = _address_in_header if _address_in_header(_probe) == _probe.ctypes.data else _address_by_interface


_warned: set[str] = set()


def _warn_once(reason: str) -> None:
    if not _warned:
        _warned.add(reason)
        _log.warning("large SQL and RocksDB state is slower on this machine: there are no compiled kernels: %s", reason)
