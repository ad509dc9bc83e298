"""Whose turn it is in this process, kept where another process can read it when this one has died.

A function that ends its process (`os._exit`, a crash in C code) cannot be asked any more. Operators note their number
in memory that is shared with the process that watches: once for each batch, 0.1 µs, nothing for a record.
"""

from __future__ import annotations

import mmap

from funke.engine.types.operator_location import NOWHERE, OperatorLocation

__all__ = ["Turn", "turn"]

_ENTRY = 512
_ENTRIES = 1024
# So many bytes of each text are kept.
_TEXT = 150


class Turn:
    """The number of the operator that runs, 0 for none, and a table of places by number."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begins a table of its own: one that was there before a fork is shared with the parent."""
        self._table = mmap.mmap(-1, _ENTRY * _ENTRIES)
        # The first entry holds the number of the one that runs.
        self.cell = memoryview(self._table).cast("i")
        self._numbers: dict[OperatorLocation, int] = {}

    def number_of(self, location: OperatorLocation) -> int:
        """The number of an operator; 0 when there are too many."""
        existing = self._numbers.get(location)
        if existing is not None or len(self._numbers) + 1 == _ENTRIES:
            return existing or 0
        number = self._numbers[location] = len(self._numbers) + 1
        numbers = ("" if each is None else str(each) for each in (location.vertex_id, location.subtask))
        strings = (location.name, location.user_line or "", location.operator_id, *numbers)
        entry = b"\0".join(text.encode("utf-8", "replace")[:_TEXT] for text in strings)
        self._table[number * _ENTRY : number * _ENTRY + len(entry)] = entry
        return number

    def now(self) -> OperatorLocation:
        """The operator that runs, as far as it is known."""
        number = self.cell[0]
        if not 0 < number < _ENTRIES:
            return NOWHERE
        entry = self._table[number * _ENTRY : (number + 1) * _ENTRY]
        name, line, operator_id, vertex, subtask = (text.decode("utf-8", "replace") for text in entry.split(b"\0")[:5])
        numbers = (int(text) if text.isdecimal() else None for text in (vertex, subtask))
        return OperatorLocation(name, line or None, operator_id, *numbers)


# There is one for each process.
turn = Turn()
