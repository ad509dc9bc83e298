"""State as bytes: plain pickle, and cloudpickle for objects whose classes only the user's program knows."""

from __future__ import annotations

import pickle
from typing import Any

from funke.engine.errors import StateError

__all__ = ["pack", "unpack"]


def pack(content: Any) -> bytes:
    """The content as bytes."""
    try:
        return pickle.dumps(content, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
        return _pack_by_value(content)


def _pack_by_value(content: Any) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(content, 5))
    except Exception as error:
        raise StateError(f"state of type {type(content).__name__} cannot be serialised: {error}") from error


unpack = pickle.loads
