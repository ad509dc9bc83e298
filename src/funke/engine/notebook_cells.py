"""Code of notebooks: its place is named by cell and line, and errors are shown without the lines of the engine."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["cell_name", "is_cell", "shown_traceback"]

# The files that IPython names where it runs in a terminal; those of Jupyter's kernel are in a temporary folder.
_CELL_PREFIX = "<ipython-input-"


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def is_cell(path: str) -> bool:
    """Whether a file name is that of a cell in a terminal."""
    return path.startswith(_CELL_PREFIX)


def cell_name(path: str) -> str | None:
    """What IPython calls the cell that has a file name; None for other files."""
    shell = _shell()
    named = None if shell is None else shell.compile.format_code_name(path)
    return None if named is None else " ".join(named)


def shown_traceback(error: BaseException, is_internal: Callable[[str], bool]) -> list[str]:
    """The lines that IPython shows for an error; `%xmode Verbose` shows all of it."""
    shell = _shell()
    if shell is not None and shell.InteractiveTB.mode == "Verbose":
        return list(shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__))
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        if is_internal(frame.filename):
            continue
        index = cell_name(frame.filename) or f"File {frame.filename}"
        lines += [
            f"{index}, line {frame.lineno}",
            f"----> {linecache.getline(frame.filename, frame.lineno or 0).strip()}",
        ]
    message = f"{type(error).__name__}: {error}".rstrip(": ")
    return [*lines, "", _with_cells(message)]


def _with_cells(text: str) -> str:
    """A text in which cells stand for their files: tracebacks of other processes name these."""
    shell = _shell()
    for path in () if shell is None else dict(getattr(shell.compile, "_filename_map", {})):
        name = cell_name(path)
        if name is not None:
            text = text.replace(f'File "{path}"', name)
    return text
