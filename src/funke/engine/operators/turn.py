"""Whose turn it is in this process, kept where another process can read it when this one has died.

A function that ends its process (`os._exit`, a crash in C code) cannot be asked any more. Operators note their number
in memory that is shared with the process that watches: once for each batch, 0.1 µs, nothing for a record.
"""

from __future__ import annotations

import mmap

__all__ = ["Turn", "turn"]

_ENTRY = 256
_ENTRIES = 1024


class Turn:
    """The number of the operator that runs, 0 for none, and a table of names by number."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begins a table of its own: one that was there before a fork is shared with the parent."""
        self._table = mmap.mmap(-1, _ENTRY * _ENTRIES)
        # The first entry holds the number of the one that runs.
        self.cell = memoryview(self._table).cast("i")
        self._numbers: dict[tuple[str, str | None], int] = {}

    def number_of(self, name: str, user_line: str | None) -> int:
        """The number of an operator; 0 when there are too many."""
        known = self._numbers.get((name, user_line))
        if known is not None or len(self._numbers) + 1 == _ENTRIES:
            return known or 0
        number = self._numbers[name, user_line] = len(self._numbers) + 1
        entry = b"\0".join(text.encode("utf-8", "replace")[: _ENTRY // 2 - 1] for text in (name, user_line or ""))
        self._table[number * _ENTRY : number * _ENTRY + len(entry)] = entry
        return number

    def now(self) -> tuple[str, str | None] | None:
        """Name and user's line of the operator that runs."""
        number = self.cell[0]
        if not 0 < number < _ENTRIES:
            return None
        entry = self._table[number * _ENTRY : (number + 1) * _ENTRY]
        name, line = (text.decode("utf-8", "replace") for text in entry.split(b"\0")[:2])
        return name, line or None


# There is one for each process.
turn = Turn()
