"""How keyed state stands in RocksDB: one row per state, namespace and key, ordered by key group.

    row    key group (2 bytes), number of the state (2), length of the namespace (2), namespace, key
    value  what is stored, pickled

Keys must be equal as bytes when they are equal to Python. Text, numbers, bytes and tuples of them have such a form.
Other keys share a row with all keys of the same hash: its value is a dict from key to what is stored.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterable
from itertools import repeat
from typing import Any

from funke.engine.errors import StateError
from funke.engine.state.storage_keys import original_key
from funke.engine.state.value_codec import pack
from funke.engine.types.stable_hash import stable_hash

__all__ = [
    "BUCKET",
    "decode_key",
    "encode_key",
    "encode_keys",
    "encode_namespace",
    "is_bucket",
    "row_prefix",
    "split_row",
]
__all__ += ["after_prefix", "state_prefix"]

_HEAD = struct.Struct(">HHH")
_LONG = struct.Struct(">q")
_SIZE = struct.Struct(">I")
_TEXT, _INT, _BIG_INT, _BYTES, _NONE, _TUPLE = b"s", b"i", b"I", b"b", b"n", b"t"
BUCKET = b"h"
_INT_KEY = struct.Struct(">cq").pack
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_MAX_NAMESPACE = 0xFFFF


def row_prefix(group: int, number: int, namespace: bytes) -> bytes:
    """What all rows of a state in a namespace begin with."""
    return _HEAD.pack(group, number, len(namespace)) + namespace


def state_prefix(group: int, number: int) -> bytes:
    """What all rows of a state begin with, whatever their namespace."""
    return _HEAD.pack(group, number, 0)[:4]


def after_prefix(prefix: bytes) -> bytes | None:
    """The first row behind all rows that begin with `prefix`; None if there can be none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def split_row(row: bytes) -> tuple[int, int, bytes, bytes]:
    """Key group, number of the state, namespace and key."""
    group, number, length = _HEAD.unpack_from(row)
    start = _HEAD.size + length
    return group, number, row[_HEAD.size : start], row[start:]


def encode_namespace(namespace: Any) -> bytes:
    """A namespace as bytes; equal ones give equal bytes, since without a memo pickle does not look at identity."""
    if namespace is None:
        return b""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 4)
    pickler.fast = True
    try:
        pickler.dump(namespace)
        encoded = buffer.getvalue()
    except (pickle.PicklingError, AttributeError, TypeError):
        encoded = pack(namespace)
    if len(encoded) > _MAX_NAMESPACE:
        raise StateError(f"the window {namespace!r} takes {len(encoded)} bytes, and RocksDB state allows 65535")
    return encoded


def encode_key(key: Any) -> bytes:
    """A stored key (see `storage_keys`) as bytes."""
    plain = _encode_plain(key)
    return plain if plain is not None else BUCKET + _SIZE.pack(stable_hash(original_key(key)))


def encode_keys(keys: Iterable[Any]) -> list[bytes]:
    """Many stored keys as bytes; looks at their types in bulk, since most jobs have keys of one type."""
    found = list(keys)
    kinds = set(map(type, found))
    if kinds == {str}:
        return [_TEXT + key.encode("utf-8", "surrogatepass") for key in found]
    if kinds == {int} and min(found) >= _LONG_MIN and max(found) <= _LONG_MAX:
        return list(map(_INT_KEY, repeat(_INT), found))
    return list(map(encode_key, found))


def _encode_plain(key: Any) -> bytes | None:
    kind, encoded = type(key), None
    if kind is str:
        encoded = _TEXT + key.encode("utf-8", "surrogatepass")
    elif kind is int:
        encoded = _INT + _LONG.pack(key) if _LONG_MIN <= key <= _LONG_MAX else _BIG_INT + str(key).encode()
    elif kind is bytes:
        encoded = _BYTES + key
    elif key is None:
        encoded = _NONE
    elif kind is tuple:
        items = [item for item in map(_encode_plain, key) if item is not None]
        if len(items) == len(key):
            encoded = _TUPLE + b"".join(_SIZE.pack(len(item)) + item for item in items)
    return encoded


def is_bucket(encoded: bytes) -> bool:
    """Whether the row holds a dict of keys that share a hash."""
    return encoded[:1] == BUCKET


def decode_key(encoded: bytes) -> Any:
    """The key behind the bytes; buckets have none."""
    kind, content = encoded[:1], encoded[1:]
    if kind == _TEXT:
        return content.decode("utf-8", "surrogatepass")
    if kind == _INT:
        return _LONG.unpack(content)[0]
    if kind == _BIG_INT:
        return int(content)
    if kind == _BYTES:
        return content
    if kind == _NONE:
        return None
    return tuple(_items(content))


def _items(content: bytes) -> list[Any]:
    items, position = [], 0
    while position < len(content):
        (size,) = _SIZE.unpack_from(content, position)
        position += _SIZE.size
        items.append(decode_key(content[position : position + size]))
        position += size
    return items
