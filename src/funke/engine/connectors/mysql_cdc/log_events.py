"""Events of the binary log, but for those of rows, which are decoded together: `row_block.py`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.errors import SourceError

__all__ = [
    "DELETES",
    "INSERTS",
    "ROWS",
    "UPDATES",
    "LogEvent",
    "MappedTable",
    "is_transaction_start",
    "plain_event",
    "statement_of",
    "table_of",
]

QUERY, ROTATE, XID, TABLE_MAP, HEARTBEAT = 2, 4, 16, 19, 27
FORMAT, GTID, ANONYMOUS_GTID, XA_PREPARE, PARTIAL_UPDATE, PAYLOAD = 15, 33, 34, 38, 39, 40
MARIADB_GTID, QUERY_COMPRESSED = 162, 165
# Versions 1 and 2 of the events; those of MariaDB that are compressed stand for one of them each.
_COMPRESSED = {QUERY_COMPRESSED: QUERY, 166: 23, 167: 24, 168: 25, 169: 30, 170: 31, 171: 32}
INSERTS, UPDATES, DELETES = frozenset({23, 30}), frozenset({24, 31}), frozenset({25, 32})
ROWS = INSERTS | UPDATES | DELETES
_SECOND_VERSIONS = frozenset({30, 31, 32})
_STANDALONE, _PREPARED = 1, 64
_COLUMN_NAMES = 4
_REJECTED = {
    PARTIAL_UPDATE: "parts of JSON values: set binlog_row_value_options = ''",
    PAYLOAD: "compressed transactions: set binlog_transaction_compression = OFF",
}


class LogEvent(NamedTuple):
    """An event: what it is, when its statement began, where it stands, and what it says behind its header."""

    kind: int
    time_s: int
    file: str
    # Where it begins in the file, and where it ends.
    begin: int
    behind: int
    body: bytes

    @property
    def start(self) -> LogPosition:
        return LogPosition(self.file, self.begin)

    @property
    def end(self) -> LogPosition:
        return LogPosition(self.file, self.behind)


def plain_event(event: LogEvent) -> LogEvent:
    """The event without compression; rejects those that would be misunderstood."""
    if event.kind in _REJECTED:
        raise SourceError(f"unsupported event in the binary log at {event.start}: {_REJECTED[event.kind]}")
    kind = _COMPRESSED.get(event.kind)
    if kind is None:
        return event
    head = _query_head(event.body) if kind == QUERY else _rows_head(kind, event.body)
    body = event.body[:head] + _inflated(event.body[head:])
    return event._replace(kind=kind, body=body)


def _inflated(data: bytes) -> bytes:
    # A byte with the way of compression and the length of a number that says how long the content is.
    return zlib.decompress(data[1 + (data[0] & 7) :])


def _query_head(body: bytes) -> int:
    """Where the statement begins: behind the fixed numbers, status variables and the name of the database."""
    return 13 + int.from_bytes(body[11:13], "little") + body[8] + 1


def _rows_head(kind: int, body: bytes) -> int:
    """Where the rows begin."""
    at = 8 + int.from_bytes(body[8:10], "little") if kind in _SECOND_VERSIONS else 8
    columns, at = _number(body, at)
    return at + (columns + 7) // 8 * (2 if kind in UPDATES else 1)


def rows_at(event: LogEvent, columns: int) -> int:
    """Where the rows of an event begin; rejects those that lack columns."""
    head = _rows_head(event.kind, event.body)
    size = (columns + 7) // 8
    bitmaps = 2 if event.kind in UPDATES else 1
    present = event.body[head - bitmaps * size : head]
    whole = ((1 << columns) - 1).to_bytes(size, "little")
    if any(
        int.from_bytes(present[at : at + size], "little") & ((1 << columns) - 1) != (1 << columns) - 1
        for at in range(0, len(present), size)
    ):
        raise SourceError(
            f"the binary log has incomplete rows at {event.start}: set binlog_row_image = FULL and start anew"
        )
    assert len(present) == bitmaps * len(whole)
    return head


@dataclass(frozen=True)
class MappedTable:
    """A table as it is when changes of it follow: its columns' types, and what is said of these."""

    database: str
    name: str
    types: bytes
    described: bytes
    # None unless the server writes them down.
    names: tuple[str, ...] | None


def table_of(body: bytes) -> MappedTable:
    database, at = _short_text(body, 8)
    name, at = _short_text(body, at)
    count, at = _number(body, at)
    types = body[at : at + count]
    size, at = _number(body, at + count)
    described = body[at : at + size]
    names = _column_names(body, at + size + (count + 7) // 8)
    return MappedTable(database, name, types, described, names)


def _column_names(body: bytes, at: int) -> tuple[str, ...] | None:
    while at < len(body):
        field = body[at]
        size, at = _number(body, at + 1)
        if field == _COLUMN_NAMES:
            names, end = [], at + size
            while at < end:
                length, at = _number(body, at)
                names.append(body[at : at + length].decode())
                at += length
            return tuple(names)
        at += size
    return None


def statement_of(body: bytes) -> tuple[str, str]:
    """The database that a statement was for, and its text."""
    head = _query_head(body)
    database = body[head - body[8] - 1 : head - 1].decode()
    return database, body[head:].decode("utf-8", "replace")


def is_transaction_start(event: LogEvent) -> bool:
    """Whether events up to a commit belong together from here on, and not only the next one."""
    if event.kind == MARIADB_GTID:
        return not event.body[12] & _STANDALONE
    return event.kind == QUERY and statement_of(event.body)[1].startswith(("BEGIN", "XA START"))


def is_of_xa(event: LogEvent) -> bool:
    """Whether a transaction begins whose end stands elsewhere in the log."""
    if event.kind == MARIADB_GTID:
        return bool(event.body[12] & _PREPARED)
    return event.kind == QUERY and statement_of(event.body)[1].startswith("XA START")


def is_commit(event: LogEvent) -> bool:
    """Whether a transaction ends: one of an engine that has none of its own by a statement."""
    if event.kind == QUERY:
        return statement_of(event.body)[1] in ("COMMIT", "ROLLBACK")
    return event.kind in (XID, XA_PREPARE)


def rotated_to(body: bytes) -> LogPosition:
    return LogPosition.of(body[8:].decode(), int.from_bytes(body[:8], "little"))


def _short_text(body: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + body[at]
    return body[at + 1 : end].decode(), end + 1


def _number(body: Any, at: int) -> tuple[int, int]:
    """A number as long as it needs to be, and where it ends."""
    first = body[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(body[at + 1 : at + 1 + size], "little"), at + 1 + size
