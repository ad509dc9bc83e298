"""Rows of a query as columns of bytes, many rows at once: PyMySQL takes them value by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.connectors.mysql_cdc.packets import Packets, error_of
from funke.engine.connectors.mysql_cdc.row_block import NULL, Cells, binaries
from funke.engine.errors import SourceError

__all__ = ["selected_rows"]

_QUERY = 0x03
_END, _ERROR, _LONGEST_END = 0xFE, 0xFF, 9
_NULL, _TWO, _THREE, _EIGHT = 251, 252, 253, 254
# Lengths may be looked for behind the last value.
_PADDING = bytes(16)


def selected_rows(connection: Any, query: str, values: tuple[Any, ...]) -> tuple[int, list[Any]]:
    """How many rows there are, and their columns, as Arrow has bytes."""
    with connection.cursor() as cursor:
        text = cursor.mogrify(query, values or None)
    connection._execute_command(_QUERY, text)
    columns = connection._read_packet().read_length_encoded_integer()
    for _ in range(columns + 1):  # the columns' descriptions, and their end
        connection._read_packet()
    packets = _rows(connection)
    return len(packets), _columns(packets, columns)


def _rows(connection: Any) -> list[bytes]:
    row_packets: list[bytes] = []
    packets = Packets()
    while True:
        packet = packets.take()
        if packet is None:
            data = connection._rfile.read1(1 << 18)
            if not data:
                raise SourceError("the server has closed the connection for table rows")
            packets.add(data)
        elif packet[:1] == bytes([_END]) and len(packet) < _LONGEST_END:
            return row_packets
        elif packet[:1] == bytes([_ERROR]):
            code, message = error_of(packet)
            raise SourceError(f"the rows of a table cannot be read: {message} ({code})")
        else:
            row_packets.append(packet)


def _columns(packets: list[bytes], columns: int) -> list[Any]:
    """Walks through the columns of all rows at once."""
    content = b"".join([*packets, _PADDING])
    data: Any = np.frombuffer(content, np.uint8)
    numbers: Any = np.ndarray((len(content) - 7,), "<u8", content, strides=(1,))
    sizes = np.fromiter(map(len, packets), np.int64, len(packets))
    at = sizes.cumsum() - sizes
    decoded = []
    for _ in range(columns):
        first = data[at].astype(np.int64)
        lengths, begin = first, at + 1
        if (first >= _NULL).any():
            is_null = first == _NULL
            width = np.select([first == _TWO, first == _THREE, first == _EIGHT], [2, 3, 8], 0)
            mask = np.where(width == 8, -1, (1 << 8 * np.minimum(width, 7)) - 1)
            lengths = np.where(width > 0, numbers[at + 1].astype(np.int64) & mask, first)
            lengths, begin = np.where(is_null, 0, lengths), begin + width
            decoded.append(binaries(content, Cells(begin, np.where(is_null, NULL, lengths))))
        else:
            decoded.append(binaries(content, Cells(begin, lengths)))
        at = begin + lengths
    return decoded
