"""Checks arguments that have to be members of an enumeration, where programs like to write a string."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from funke.engine.errors import TypeMismatchError, at_user_line

__all__ = ["require_member"]

E = TypeVar("E", bound=Enum)


def require_member(kind: type[E], value: object, asker: str) -> E:
    """Return `value` if it is a member of `kind`, else raise with what to write instead."""
    if isinstance(value, kind):
        return value
    similar = [member.name for member in kind if member.name == str(value).upper() or member.name == value]
    names = ", ".join(f"{kind.__qualname__}.{name}" for name in similar or kind.__members__)
    raise TypeMismatchError(at_user_line(f"{asker} needs a {kind.__qualname__}, got {value!r}; write {names}"))
