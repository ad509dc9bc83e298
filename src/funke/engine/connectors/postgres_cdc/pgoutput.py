"""Decodes the messages of PostgreSQL's output plugin pgoutput, version 1 of its protocol, but for changes of rows.

Those come by thousands and are decoded together: `change_block.py`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from funke.engine.errors import SourceError

__all__ = ["Begin", "Commit", "LogRelation", "Message", "Truncate", "decode_message"]

_BEGIN = struct.Struct(">QQI")
_COMMIT = struct.Struct(">BQQQ")
_INT = struct.Struct(">I")
_SHORT = struct.Struct(">H")
# Microseconds from 1970 to 2000, where PostgreSQL's clock begins.
_EPOCH_US = 946_684_800_000_000


@dataclass(frozen=True)
class LogRelation:
    """A table as it is when changes of it follow."""

    id: int
    schema: str
    name: str
    # d: the key, f: all columns, i: an index, n: nothing tells which row was changed.
    identity: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Begin:
    """A transaction follows, whose commit stands at a position."""

    position: int
    committed_ms: int
    transaction: int


@dataclass(frozen=True)
class Commit:
    """The transaction is over; behind `end` the next one may begin."""

    end: int


@dataclass(frozen=True)
class Truncate:
    """All rows of tables are gone."""

    relation_ids: tuple[int, ...]


Message = LogRelation | Begin | Commit | Truncate


def decode_message(data: bytes) -> Message | None:
    """The meaning of a message; None for those that say nothing about rows."""
    kind = data[:1]
    if kind == b"B":
        position, committed_us, transaction = _BEGIN.unpack_from(data, 1)
        return Begin(position, (committed_us + _EPOCH_US) // 1000, transaction)
    if kind == b"C":
        return Commit(_COMMIT.unpack_from(data, 1)[2])
    if kind == b"R":
        return _relation(data)
    if kind == b"T":
        (count,) = _INT.unpack_from(data, 1)
        return Truncate(struct.unpack_from(f">{count}I", data, 6))
    if kind in b"YOM":
        return None
    raise SourceError(f"PostgreSQL sent a message of kind {kind!r}, which the protocol's version 1 does not have")


def _relation(data: bytes) -> LogRelation:
    (number,) = _INT.unpack_from(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _SHORT.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        column, at = _text(data, at + 1)
        columns.append(column)
        at += 8
    return LogRelation(number, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1
