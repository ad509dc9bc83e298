"""Which key most rows have: from a look at the columns of one batch a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from funke.engine.operators.keyed.hot_keys import HotKeys

__all__ = ["KeyWatch"]


class KeyWatch:
    """Looks at the columns of a key; without any, there is nothing to see."""

    def __init__(self, indexes: Sequence[int], clock: Callable[[], float] = time.monotonic) -> None:
        self._indexes = tuple(indexes)
        self._hot_keys = HotKeys(clock)

    def look(self, data: Any) -> None:
        """Looks at an Arrow batch; mostly there is nothing to do."""
        if self._indexes and data.num_rows and self._hot_keys.is_due():
            some = self._hot_keys.some_of(data.num_rows)
            columns = [data.column(index)[some].to_pylist() for index in self._indexes]
            # Lists and maps cannot be counted as they are.
            keys = columns[0] if len(columns) == 1 else list(zip(*columns))
            self._hot_keys.look([repr(key) if _is_nested(key) else key for key in keys])

    def hottest(self) -> dict[str, Any]:
        """The key that most rows have, and their share, if that is much."""
        return self._hot_keys.hottest()


def _is_nested(key: Any) -> bool:
    return isinstance(key, (list, dict)) or (isinstance(key, tuple) and any(map(_is_nested, key)))
