"""How timers stand in RocksDB: one row each, ordered by time and behind all rows of state.

    row    65535 (2 bytes), number of the queue (2), 8 (2), time (8), key group (2), length of the namespace and 1 (2),
           namespace, key
    value  nothing

The length is 0 for a timer that has no namespace. Only keys that have a form as bytes can stand here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from funke.engine.state.rocksdb.rows import (
    decode_key,
    encode_key,
    encode_keys,
    encode_namespace,
    is_bucket,
    row_prefix,
    split_row,
)
from funke.engine.state.storage_keys import groups_of
from funke.engine.state.value_codec import unpack
from funke.engine.types.keys.key_groups import KeyGroups

__all__ = ["TIMERS", "decode_timer", "encode_timers", "group_of_row", "group_of_timer", "is_plain", "timers_prefix"]

# In place of a key group; there are never that many.
TIMERS = 0xFFFF

_TIME = struct.Struct(">Q")
_TAIL = struct.Struct(">HH")
# Rows are ordered as unsigned bytes: with this added to them, times before 1970 come first.
_ZERO = 1 << 63
_START = len(row_prefix(TIMERS, 0, b"")) + _TIME.size
_PLAIN_KEYS = frozenset({str, bytes, type(None)})

Timer = tuple[int, Any]


def timers_prefix(number: int) -> bytes:
    """What all rows of a queue begin with."""
    return row_prefix(TIMERS, number, bytes(_TIME.size))[: -_TIME.size]


def is_plain(time: int, key: Any) -> bool:
    """Whether a timer has a form as bytes."""
    if type(time) is not int or not -_ZERO <= time < _ZERO:
        return False
    return type(key) in _PLAIN_KEYS or not is_bucket(encode_key(key))


def encode_timers(timers: Sequence[Timer], number: int, has_namespaces: bool, key_groups: KeyGroups) -> list[bytes]:
    """The rows of plain timers."""
    keys = [entry[0] for _, entry in timers] if has_namespaces else [entry for _, entry in timers]
    prefix, pack_time, pack_tail = timers_prefix(number), _TIME.pack, _TAIL.pack
    parts = zip(timers, groups_of(keys, key_groups), encode_keys(keys))
    if not has_namespaces:
        return [prefix + pack_time(time + _ZERO) + pack_tail(group, 0) + key for (time, _), group, key in parts]
    # Many timers are of the same window.
    spaces: dict[Any, bytes] = {}
    rows = []
    for (time, (_, namespace)), group, key in parts:
        space = spaces.get(namespace)
        if space is None:
            space = spaces[namespace] = encode_namespace(namespace)
        rows.append(prefix + pack_time(time + _ZERO) + pack_tail(group, len(space) + 1) + space + key)
    return rows


def group_of_timer(row: bytes) -> int:
    """The key group of a timer."""
    group: int = _TAIL.unpack_from(row, _START)[0]
    return group


def group_of_row(row: bytes) -> int:
    """The key group of any row."""
    group = split_row(row)[0]
    return group_of_timer(row) if group == TIMERS else group


def decode_timer(row: bytes) -> Timer:
    """Time and entry."""
    time = _TIME.unpack_from(row, _START - _TIME.size)[0] - _ZERO
    length = _TAIL.unpack_from(row, _START)[1]
    start = _START + _TAIL.size
    if not length:
        return time, decode_key(row[start:])
    end = start + length - 1
    return time, (decode_key(row[end:]), unpack(row[start:end]) if length > 1 else None)
