"""Runs a user's program in this process as if Python had been started with it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

from funke import alias
from funke.engine.config.job_defaults import put_command_line_options
from funke.engine.errors import ConfigurationError
from funke.ops.cli.arguments import ProgramCall

__all__ = ["prepare_program"]


def prepare_program(call: ProgramCall) -> Callable[[], None]:
    """What runs the program as `__main__`, with `pyflink` resolving to Funke and the options as defaults of its jobs.

    A program that does not exist, or is not Python, is rejected here, before anything else is loaded.
    """
    put_command_line_options(call.options)
    _add_python_files(call.options.get("python.files", ""))
    alias.install()
    if call.module is not None:
        return _module_run(call.module, call.arguments)
    if call.file is not None:
        return _file_run(call.file, call.arguments)
    raise ConfigurationError("name the program to run, as in `funke run job.py`")


def _file_run(path: str, arguments: tuple[str, ...]) -> Callable[[], None]:
    code = _compiled(path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    return partial(_run_code, code, path, arguments, None)


def _module_run(name: str, arguments: tuple[str, ...]) -> Callable[[], None]:
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"no Python module '{name}' found; name its folder with -pyfs")
    return partial(_run_code, _compiled(spec.origin), spec.origin, arguments, spec)


def _run_code(code: CodeType, path: str, arguments: tuple[str, ...], spec: ModuleSpec | None) -> None:
    # A real module that stays: functions of `__main__` are pickled by value, also by jobs that outlive the script.
    module = ModuleType("__main__")
    module.__file__ = path
    module.__spec__ = spec
    module.__package__ = spec.parent if spec is not None else None
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [path, *arguments]
    exec(code, module.__dict__)


def _compiled(path: str) -> CodeType:
    if os.path.isdir(path):
        raise ConfigurationError(f"'{path}' is a folder; name a Python file")
    try:
        with open(path, "rb") as file:
            source = file.read()
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file '{path}'") from None
    except OSError as error:
        raise ConfigurationError(f"cannot read '{path}': {error.strerror}") from None
    return compile(source, path, "exec", dont_inherit=True)


def _add_python_files(files: str) -> None:
    for path in filter(None, (part.strip() for part in files.split(","))):
        if not os.path.exists(path):
            raise ConfigurationError(f"there is no file '{path}', which -pyfs names")
        absolute = os.path.abspath(path)
        sys.path.insert(0, os.path.dirname(absolute) if absolute.endswith(".py") else absolute)
