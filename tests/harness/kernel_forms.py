"""The two forms of kernels: machine code, compiled once for a run of the tests, and the plain body."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from funke.engine.kernels import (
    aggregate_rows,
    bytes_index,
    copy_rows,
    hash_rows,
    integer_index,
    join_rows,
    keep_rows,
    match_rows,
    rank_rows,
    step_rows,
    value_bits,
)
from funke.engine.kernels.compiler import compile_kernel
from funke.engine.kernels.kernel import Kernel
from funke.engine.kernels.machine_code import load_object

_MODULES = (
    aggregate_rows,
    integer_index,
    bytes_index,
    copy_rows,
    hash_rows,
    join_rows,
    keep_rows,
    match_rows,
    rank_rows,
    step_rows,
    value_bits,
)
KERNELS = [each for module in _MODULES for each in vars(module).values() if type(each) is Kernel]
_ENDLESS = 1 << 40


@functools.cache
def machine_code(kernel: Kernel) -> Any:
    """The compiled form."""
    compiled = Kernel(kernel.function)
    compiled.attach(load_object(compile_kernel(kernel)))
    return compiled.compiled(0)


def compiled_when_called(kernel: Kernel) -> Any:
    """The compiled form; what a test does not call is not compiled."""

    def call(*arguments: Any) -> Any:
        return machine_code(kernel)(*arguments)

    return call


def plain_body(kernel: Kernel) -> Any:
    """The plain body, called as machine code is: with the addresses of arrays."""

    def call(*arguments: Any) -> Any:
        return kernel(*(_array(*each) for each in zip(arguments, kernel.element_types)))

    return call


def _array(argument: Any, element: str | None) -> Any:
    if element is None:
        return argument
    kind = np.ctypeslib.as_ctypes_type(np.dtype(element)) * _ENDLESS
    return np.ctypeslib.as_array(kind.from_address(argument))


def use_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on kernels run in a form: "compiled", "plain", or "none", as where they cannot be compiled."""
    for kernel in KERNELS:
        native = {"compiled": compiled_when_called, "plain": plain_body, "none": lambda _: None}[form](kernel)
        monkeypatch.setattr(kernel, "_native", native)
        monkeypatch.setattr(kernel, "_is_open", False)
