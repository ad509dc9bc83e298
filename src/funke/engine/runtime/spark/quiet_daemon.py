"""The process that Spark's Python workers are forked from (`spark.python.daemon.module`): PySpark's with two changes.

When a task fails, Spark closes the connections of the job's other tasks. Their workers find that out when they send
what is left, and PySpark prints a traceback for each. The job tells its failure itself, once.

Spark's executors find PySpark in a zip file of sources, which each of them would compile anew. Where Spark itself is
the package of the interpreter, the same modules are there in compiled form.

Executors get this file alone: it must not import another one of Funke's.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from typing import Any

__all__ = ["prefer_installed", "print_unless_closed"]

_print_exception = traceback.print_exc


def prefer_installed() -> None:
    """Takes Spark's own zip files off `sys.path` where they are a part of the interpreter's package."""
    path = list(sys.path)
    of_spark = {folder for folder, name in map(os.path.split, path) if name == "pyspark.zip"}
    sys.path[:] = [each for each in path if os.path.dirname(each) not in of_spark]
    spec = importlib.util.find_spec("pyspark")
    origin = spec.origin if spec is not None else None
    lib = os.path.join(os.path.dirname(os.path.realpath(origin)), "python", "lib") if origin is not None else None
    if {os.path.realpath(folder) for folder in of_spark} != {lib}:
        sys.path[:] = path


def print_unless_closed(*others: Any, **named: Any) -> None:
    """Prints the exception that is handled, unless the daemon could not send because Spark has hung up."""
    from pyspark import daemon

    error = sys.exc_info()[1]
    raised_in = traceback.extract_tb(error.__traceback__)[-1:] if error is not None else []
    is_of_daemon = any(os.path.abspath(frame.filename) == os.path.abspath(daemon.__file__) for frame in raised_in)
    if not (is_of_daemon and isinstance(error, ConnectionError)):
        _print_exception(*others, **named)


if __name__ == "__main__":
    prefer_installed()
    from pyspark.daemon import manager

    traceback.print_exc = print_unless_closed
    manager()
