"""Compiles the kernels that processes wait for: a process of its own at the lowest priority, one at a time.

Numba makes LLVM's form of a function, LLVM an object file that needs nothing but itself: slots load it without Numba.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import signal
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import funke.engine.kernels
from funke.engine.kernels.kernel import Kernel, Memory, find_kernel
from funke.engine.kernels.machine_code import FAILED, OBJECT, PREFIX, SYMBOL, WANTED, kept_folder, target_machine, write
from funke.engine.trust.code_folder import alone_in
from funke.engine.trust.private_files import private_opener

__all__ = ["build", "compile_kernel"]

_LIMIT_S = 300
# So many versions and processors keep their kernels.
_MOST_FOLDERS = 4


def compile_kernel(kernel: Kernel) -> bytes:
    """The object file of a kernel."""
    import llvmlite.binding as llvm
    from numba import cfunc
    from numba import types as kinds

    scalars = {"int": kinds.int64, "float": kinds.float64, "None": kinds.void}
    parameters = [
        scalars[name] if element is None else kinds.CPointer(getattr(kinds, element))
        for name, element in zip(kernel.parameters, kernel.element_types)
    ]
    compiled = cfunc(scalars[kernel.result](*parameters))(_with_compiled_parts(kernel.function))
    module = llvm.parse_assembly(compiled.inspect_llvm())
    module.triple = llvm.get_process_triple()
    _optimize(module)
    for function in module.functions:
        if function.name.startswith("cfunc."):
            function.name = SYMBOL
        elif function.is_declaration and not function.name.startswith("llvm."):
            raise TypeError(f"kernel '{kernel.name}' calls '{function.name}': kernels must not raise, nor use objects")
    return bytes(target_machine().emit_object(module))


def _optimize(module: Any) -> None:
    """Makes all functions but the entry point internal, so that LLVM can see that they never raise."""
    import llvmlite.binding as llvm

    for function in module.functions:
        if not function.is_declaration and not function.name.startswith("cfunc."):
            function.linkage = "internal"
    builder = llvm.create_pass_builder(target_machine(), llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)


def _with_compiled_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Numba's forms of the parts that it calls."""
    from numba import njit

    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        called: Any = names.get(name)
        if getattr(called, "is_part", False):
            names[name] = njit(_with_compiled_parts(called))
        elif isinstance(called, Memory):
            names[name] = _compiled_memory(called)
    return types.FunctionType(function.__code__, names, function.__name__)


def _compiled_memory(memory: Memory) -> Any:
    """What makes a pointer of an address."""
    from numba import types as kinds
    from numba.extending import intrinsic

    pointer = kinds.CPointer(getattr(kinds, memory.element))

    def to_pointer(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(pointer))

        return pointer(kinds.int64), generate

    return intrinsic(to_pointer)


def build() -> None:
    """Compiles what is wanted in the folder of this version and processor."""
    folder = kept_folder()
    with alone_in(os.path.dirname(folder), "kernels.lock") as is_alone:
        if not is_alone:
            return
        for module in pkgutil.iter_modules(funke.engine.kernels.__path__, "funke.engine.kernels."):
            importlib.import_module(module.name)
        while markers := _markers(folder):
            _build_one(folder, markers[0].name.removesuffix(WANTED))
            markers[0].unlink(missing_ok=True)
        _remove_leftovers(folder)


def _markers(folder: str) -> list[Path]:
    """What is wanted, in the order in which it was asked for: loops without another form are asked for first."""
    return sorted(Path(folder).glob(f"*{WANTED}"), key=_time_of)


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _build_one(folder: str, name: str) -> None:
    kernel = find_kernel(name)
    if kernel is None or os.path.exists(os.path.join(folder, name + OBJECT)):
        return
    try:
        write(folder, name, compile_kernel(kernel))
    except Exception:
        with open(os.path.join(folder, name + FAILED), "w", encoding="utf-8", opener=private_opener) as file:
            file.write(traceback.format_exc())


def _remove_leftovers(folder: str) -> None:
    """Removes files of versions and processors that were not used for long."""
    for path in Path(folder).glob("*.part"):
        path.unlink(missing_ok=True)
    folders = Path(folder).parent.glob(f"{PREFIX}*/")
    by_age = sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)
    for path in by_age[_MOST_FOLDERS:]:
        if path.name != Path(folder).name:
            shutil.rmtree(path, ignore_errors=True)


def _give_up(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"the kernels were not compiled within {_LIMIT_S} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_LIMIT_S)
    os.nice(19)
    build()
