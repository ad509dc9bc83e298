"""What travels between enumerators and readers, and into checkpoints: parts of tables, pieces of the log, states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CdcState", "Chunk", "FinishedChunk", "LogPiece", "TablePart"]


@dataclass(frozen=True)
class Chunk:
    """The rows of a table whose chunk column is at least `low` and less than `high`; None for no bound."""

    # A table of the database's own kind.
    table: Any
    # Texts, unless they are whole numbers.
    low: int | str | None = None
    high: int | str | None = None
    # Its place among the parts of the table.
    number: int = 0


@dataclass(frozen=True)
class FinishedChunk:
    """A chunk that was read, and what the transaction that read it saw, as a text of the database's own."""

    chunk: Chunk
    seen: str


@dataclass(frozen=True)
class TablePart:
    """A chunk that is to be read: in a snapshot that the driver holds open under a name, if the database has such."""

    chunk: Chunk
    snapshot: str = ""
    seen: str = ""


@dataclass(frozen=True)
class LogPiece:
    """Transactions whose commits end behind `start` and not behind `end`."""

    start: Any
    end: Any
    # What is before it will never be asked for again.
    confirmed: Any
    tables: tuple[Any, ...]
    # Parts of tables whose rows may hold changes of this piece.
    chunks: tuple[FinishedChunk, ...] = ()


@dataclass(frozen=True)
class CdcState:
    """Where the source stands, in checkpoints."""

    tables: tuple[Any, ...]
    # From here on the log is to be read.
    position: Any
    waiting: tuple[Chunk, ...] = ()
    finished: tuple[FinishedChunk, ...] = ()
    # Behind this no transaction was seen by any chunk; None while that is not known.
    seam_end: Any = None
    reads_log: bool = False
    # Splits that are being read, which stand in the checkpoint beside this.
    parts_out: int = 0
    has_piece: bool = False
    # Whose log it is, where positions of several servers look alike, and when the position's part of it was begun.
    server: str = ""
    log_time_s: int | None = None
