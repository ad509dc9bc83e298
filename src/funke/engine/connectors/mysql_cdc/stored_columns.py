"""How columns stand in the rows of the binary log: how long their values are, or where that is said."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.connectors.mysql_cdc.log_events import MappedTable
from funke.engine.errors import SourceError

__all__ = ["StoredColumn", "stored_columns"]

DECIMAL, ENUM, SET, BLOB, VAR_STRING, STRING, GEOMETRY, JSON, VARCHAR, BIT = (
    246,
    247,
    248,
    252,
    253,
    254,
    255,
    245,
    15,
    16,
)
TINY, SHORT, INT, FLOAT, DOUBLE, BIGINT, MEDIUM, DATE, YEAR = 1, 2, 3, 4, 5, 8, 9, 10, 13
TIMESTAMP, DATETIME, TIME = 17, 18, 19
_COMPRESSED_BLOB, _COMPRESSED_VARCHAR = 140, 141
_WIDTHS = {TINY: 1, SHORT: 2, INT: 4, FLOAT: 4, DOUBLE: 8, BIGINT: 8, MEDIUM: 3, DATE: 3, YEAR: 1}
_TIMESTAMPS = {TIMESTAMP: 4, DATETIME: 5, TIME: 3}
# Bytes for so many digits that do not fill a group of nine.
DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_TWO_BYTES = (DECIMAL, VARCHAR, BIT, VAR_STRING, STRING, ENUM, SET, _COMPRESSED_VARCHAR)
_ONE_BYTE = (FLOAT, DOUBLE, BLOB, JSON, GEOMETRY, TIMESTAMP, DATETIME, TIME, _COMPRESSED_BLOB)
# Which types of the log a type of information_schema may stand as.
_KINDS: dict[int, tuple[str, ...]] = {
    TINY: ("tinyint",),
    SHORT: ("smallint",),
    MEDIUM: ("mediumint",),
    INT: ("int",),
    BIGINT: ("bigint",),
    FLOAT: ("float",),
    DOUBLE: ("double",),
    DECIMAL: ("decimal",),
    YEAR: ("year",),
    DATE: ("date",),
    TIMESTAMP: ("timestamp",),
    DATETIME: ("datetime",),
    TIME: ("time",),
    BIT: ("bit",),
    ENUM: ("enum",),
    SET: ("set",),
    STRING: ("char", "binary", "uuid", "inet6", "inet4"),
    VARCHAR: ("varchar", "varbinary"),
    VAR_STRING: ("varchar", "varbinary"),
    BLOB: ("tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext"),
    JSON: ("json",),
}


@dataclass(frozen=True)
class StoredColumn:
    """A column: its type, and how its values stand."""

    type: int
    # Bytes of a value; of the number before it that says so, if `is_counted`.
    width: int
    is_counted: bool = False
    # Bits, digits of a number, bytes of a text at most.
    size: int = 0
    # Digits behind the point, or behind the second.
    digits: int = 0

    def may_be(self, kind: str) -> bool:
        """Whether information_schema may call it so."""
        if self.type in (GEOMETRY, _COMPRESSED_BLOB, _COMPRESSED_VARCHAR):
            return True
        return kind in _KINDS[self.type]


def stored_columns(table: MappedTable) -> list[StoredColumn]:
    """The columns as a table's description has them."""
    at, stored = 0, []
    for kind in table.types:
        size = 2 if kind in _TWO_BYTES else 1 if kind in _ONE_BYTE else 0
        column = _column(kind, table.described[at : at + size])
        if column is None:
            raise SourceError(
                f"the table {table.database}.{table.name} has a column in an old form of the server's, type {kind}: "
                "ALTER TABLE … FORCE writes it anew"
            )
        stored.append(column)
        at += size
    return stored


def _column(kind: int, said: bytes) -> StoredColumn | None:
    if kind in _WIDTHS:
        return StoredColumn(kind, _WIDTHS[kind])
    if kind in _TIMESTAMPS:
        return StoredColumn(kind, _TIMESTAMPS[kind] + (said[0] + 1) // 2, digits=said[0])
    if kind == DECIMAL:
        return StoredColumn(kind, _decimal_width(said[0], said[1]), size=said[0], digits=said[1])
    if kind == BIT:
        bits = said[1] * 8 + said[0]
        return StoredColumn(kind, (bits + 7) // 8, size=bits)
    if kind in (BLOB, JSON, GEOMETRY, _COMPRESSED_BLOB):
        return StoredColumn(kind, said[0], is_counted=True)
    if kind in (VARCHAR, VAR_STRING, _COMPRESSED_VARCHAR):
        return _text(kind, int.from_bytes(said, "little"))
    return _string(said) if kind == STRING else None


def _string(said: bytes) -> StoredColumn:
    """Texts of fixed length, enumerations and sets; two bits of a long length hide in the type."""
    kind, size = said[0], said[1]
    if kind & 0x30 != 0x30:
        kind, size = kind | 0x30, size | ((kind & 0x30) ^ 0x30) << 4
    return StoredColumn(kind, size) if kind in (ENUM, SET) else _text(kind, size)


def _text(kind: int, size: int) -> StoredColumn:
    return StoredColumn(kind, 1 if size <= 255 else 2, is_counted=True, size=size)


def _decimal_width(precision: int, scale: int) -> int:
    whole = precision - scale
    return whole // 9 * 4 + DIGIT_BYTES[whole % 9] + scale // 9 * 4 + DIGIT_BYTES[scale % 9]
