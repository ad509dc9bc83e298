"""Finds the option that a mistyped key may have meant."""

from __future__ import annotations

import functools

from funke.engine.config.all_options import all_options
from funke.engine.errors import nearest_name

__all__ = ["nearest_key"]

# Keys of programs and of other systems are not typing errors.
_FOREIGN = ("spark.", "s3.", "fs.", "hadoop.", "hive.", "kafka.")
_CLOSE = 0.88


def nearest_key(key: str, closeness: float = _CLOSE) -> str | None:
    """The known key that is most like an unknown one; None when none is close.

    >>> nearest_key("paralellism.default"), nearest_key("execution.checkpoint.interval"), nearest_key("my.own.key")
    ('parallelism.default', 'execution.checkpointing.interval', None)
    """
    if key.startswith(_FOREIGN):
        return None
    return nearest_name(key, _known_keys(), closeness, counts_parts=False)


@functools.cache
def _known_keys() -> tuple[str, ...]:
    return tuple(key for option in all_options() for key in option.keys)
