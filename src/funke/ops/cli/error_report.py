"""What a user sees when a program fails: their own lines and one message, not the machinery's."""

from __future__ import annotations

import os
import sys
import traceback

from funke.engine.errors import PACKAGE_ROOTS, FunkeError

__all__ = ["describe_error"]


def describe_error(error: BaseException) -> str:
    """The text for the terminal."""
    if isinstance(error, FunkeError):
        return f"error: {error}"
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(type(error), error)).rstrip()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    heading = ["Traceback (most recent call last):\n"] if frames else []
    lines = [*heading, *traceback.format_list(frames), *traceback.format_exception_only(type(error), error)]
    return "".join(lines).rstrip()


def _is_ours(filename: str) -> bool:
    return os.path.abspath(filename).startswith(PACKAGE_ROOTS) or filename.startswith("<frozen")


def print_error(error: BaseException) -> None:
    """Write the text to the standard error stream, after what the program has printed."""
    sys.stdout.flush()
    print(describe_error(error), file=sys.stderr)
