"""Decodes the messages of PostgreSQL's output plugin pgoutput, version 1 of its protocol."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from funke.engine.errors import SourceError

__all__ = ["UNCHANGED", "Begin", "Change", "Commit", "LogRelation", "Truncate", "decode_message"]

# A long value that an update did not touch: the log does not hold it.
UNCHANGED: Any = type("Unchanged", (), {"__repr__": lambda self: "UNCHANGED"})()

# Texts in the form of the server, None for NULL, or UNCHANGED.
Values = list[Any]

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
class Change:
    """A row was inserted (I), updated (U) or deleted (D). `old` may hold the columns of the key only."""

    kind: str
    relation_id: int
    old: Values | None
    new: Values | None
    has_whole_old: bool = False


@dataclass(frozen=True)
class Truncate:
    """All rows of tables are gone."""

    relation_ids: tuple[int, ...]


Message = LogRelation | Begin | Commit | Change | Truncate


def decode_message(data: bytes) -> Message | None:
    """The meaning of a message; None for those that say nothing about rows."""
    kind = data[:1]
    if kind in b"IUD":
        return _change(kind.decode(), data)
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


def _change(kind: str, data: bytes) -> Change:
    (relation_id,) = _INT.unpack_from(data, 1)
    old: Values | None = None
    mark, at = data[5:6], 6
    has_whole_old = mark == b"O"
    if mark in (b"O", b"K"):
        old, at = _values(data, at)
        if kind == "D":
            return Change(kind, relation_id, old, None, has_whole_old)
        at += 1
    new, _ = _values(data, at)
    return Change(kind, relation_id, old, new, has_whole_old)


def _values(data: bytes, at: int) -> tuple[Values, int]:
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    values: Values = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == 0x74:  # t: a text
            (length,) = _INT.unpack_from(data, at)
            at += 4
            values.append(data[at : at + length].decode())
            at += length
        elif kind == 0x6E:  # n: NULL
            values.append(None)
        elif kind == 0x75:  # u: unchanged
            values.append(UNCHANGED)
        else:
            raise SourceError(f"PostgreSQL sent a value of kind {chr(kind)!r}, which was not asked for")
    return values, at
