"""Errors with their causes, in the form of Flink's messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from funke.engine.flink_exceptions import JavaException, ValidationException

__all__ = ["caused_by"]


@contextmanager
def caused_by(message: str, hint: str = "") -> Iterator[None]:
    """Puts a message in front of an error, whose own text follows as its cause, and a hint behind it."""
    try:
        yield
    except JavaException as error:
        raise ValidationException(f"{message}\nCaused by: {type(error).__name__}: {error}{hint}") from error
