"""Which key most records have: from a look at one batch a second, so that it costs nothing by record."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

from funke.engine.state.storage_keys import original_key

__all__ = ["HotKeys"]

_PAUSE_S = 1.0
# Of the last looks, each at so many keys.
_LOOKS = 10
_KEYS = 500
_FEWEST = 100
# A key with less is not what makes a subtask slow.
_SHARE = 0.2
_MOST_TEXT = 60


class HotKeys:
    """Looks at the keys of some batches."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_s = 0.0
        self._looks: deque[Counter[Any]] = deque(maxlen=_LOOKS)
        self._seen: list[Any] = []

    def look(self, keys: Sequence[Any]) -> None:
        """Sees the stored keys of a batch; mostly there is nothing to do: 0.1 µs."""
        if keys and self.is_due():
            self._seen += keys[self.some_of(len(keys))]
            # Batches may be short: a look goes on until it says something.
            if len(self._seen) >= _FEWEST:
                self._next_s = self._clock() + _PAUSE_S
                self._looks.append(Counter(self._seen))
                self._seen = []

    def is_due(self) -> bool:
        """Whether the next batch is looked at."""
        return self._clock() >= self._next_s

    @staticmethod
    def some_of(count: int) -> slice:
        """Which of so many keys are looked at: not the first ones alone, since a batch may be sorted."""
        return slice(None, None, count // _KEYS + 1)

    def hottest(self) -> dict[str, Any]:
        """The key that most records have, and their share, if that is much."""
        seen: Counter[Any] = Counter()
        for each in self._looks:
            seen.update(each)
        total = seen.total()
        if not total:
            return {}
        key, times = seen.most_common(1)[0]
        return {"hottestKey": _text(key), "hottestKeyShare": times / total} if times >= _SHARE * total else {}


def _text(key: Any) -> str:
    try:
        text = repr(original_key(key))
    except Exception:  # a user class
        text = f"<{type(key).__name__}>"
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
