"""The process that Spark's Python workers are forked from (`spark.python.daemon.module`): PySpark's, but for one thing.

When a task fails, Spark closes the connections of the job's other tasks. Their workers find that out when they send
what is left, and PySpark prints a traceback for each. The job tells its failure itself, once.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from pyspark import daemon

__all__ = ["print_unless_closed"]

_print_exception = traceback.print_exc
_DAEMON = os.path.abspath(daemon.__file__)


def print_unless_closed(*others: Any, **named: Any) -> None:
    """Prints the exception that is handled, unless the daemon could not send because Spark has hung up."""
    error = sys.exc_info()[1]
    raised_in = traceback.extract_tb(error.__traceback__)[-1:] if error is not None else []
    is_of_daemon = any(os.path.abspath(frame.filename) == _DAEMON for frame in raised_in)
    if not (is_of_daemon and isinstance(error, ConnectionError)):
        _print_exception(*others, **named)


if __name__ == "__main__":
    traceback.print_exc = print_unless_closed
    daemon.manager()
