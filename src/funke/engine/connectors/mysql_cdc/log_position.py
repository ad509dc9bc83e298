"""Positions in the binary log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, total_ordering

from funke.engine.errors import SourceError

__all__ = ["LogPosition"]


@lru_cache(maxsize=16)
def _number(file: str) -> int:
    return int(file.rpartition(".")[2])


@total_ordering
@dataclass(frozen=True)
class LogPosition:
    """A place in a file of the log; files are counted by the ends of their names.

    >>> LogPosition("log.999999", 500) < LogPosition("log.1000000", 4)
    True
    """

    file: str
    offset: int

    @property
    def _order(self) -> tuple[int, int]:
        return _number(self.file), self.offset

    def __lt__(self, other: LogPosition) -> bool:
        return self._order < other._order

    @staticmethod
    def of(file: str, offset: int | str) -> LogPosition:
        """Rejects names without a number: their order would be unknown."""
        if not file.rpartition(".")[2].isdecimal():
            raise SourceError(f"{file!r} is not a binary log file name like 'binlog.000003'")
        return LogPosition(file, int(offset))

    @staticmethod
    def from_text(text: str) -> LogPosition:
        """The position that `str` has written.

        >>> LogPosition.from_text(str(LogPosition("log.000003", 4)))
        LogPosition(file='log.000003', offset=4)
        """
        file, _, offset = text.rpartition(":")
        return LogPosition(file, int(offset))

    def __str__(self) -> str:
        return f"{self.file}:{self.offset}"

    def sees(self, transaction: LogPosition) -> bool:
        """Whether a reader at this position has seen the transaction that begins at `other`."""
        return transaction < self
