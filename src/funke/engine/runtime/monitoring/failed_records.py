"""The record at which a user function failed, as far as it may be shown: off unless the configuration allows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from funke.engine.config.secret_keys import HIDDEN, is_secret
from funke.engine.runtime.monitoring.user_frames import is_users_frame
from funke.engine.types.row import Row

__all__ = ["FailedRecords", "RecordDisplay", "failed_records"]

_MOST_TEXT = 2_000
_MOST_DEPTH = 4


@dataclass(frozen=True)
class RecordDisplay:
    """Which columns are hidden."""

    masked: tuple[str, ...] = ()


class FailedRecords:
    """What failures of this process may tell."""

    def __init__(self) -> None:
        self.display: RecordDisplay | None = None

    def text_of(self, error: BaseException) -> str:
        """The first argument of the function that failed; empty if it may not be shown, or is not known."""
        if self.display is None:
            return ""
        try:
            values = next((list(_arguments(frame)) for frame in _frames(error) if is_users_frame(frame)), [])
            return _text(values[0], self.display)[:_MOST_TEXT] if values else ""
        except Exception:  # the user's __repr__
            return ""


def _frames(error: BaseException) -> Iterator[FrameType]:
    part = error.__traceback__
    while part is not None:
        yield part.tb_frame
        part = part.tb_next


def _arguments(frame: FrameType) -> Iterator[Any]:
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return (frame.f_locals[name] for name in names if name != "self" and name in frame.f_locals)


def _text(value: Any, display: RecordDisplay, depth: int = 0) -> str:
    named = _columns(value)
    if named is None or depth >= _MOST_DEPTH:
        # What has no names of columns may hold what is to be hidden.
        is_hidden = bool(display.masked) and depth == 0 and not isinstance(value, (int, float, type(None)))
        return HIDDEN if is_hidden else repr(value)
    parts = (
        f"{name}={HIDDEN if _is_hidden(name, display) else _text(each, display, depth + 1)}" for name, each in named
    )
    return f"{type(value).__name__}({', '.join(parts)})"


def _is_hidden(name: str, display: RecordDisplay) -> bool:
    return is_secret(name) or name.lower() in {each.lower() for each in display.masked}


def _columns(value: Any) -> list[tuple[str, Any]] | None:
    """Names and values of what has names."""
    if isinstance(value, Row):
        return list(value.as_dict().items()) if "_fields" in value.__dict__ else None
    if isinstance(value, Mapping):
        return [(str(name), each) for name, each in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    return None


# There is one for each process of user functions.
failed_records = FailedRecords()
