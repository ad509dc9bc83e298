"""Values of the type BITMAP: sets of whole numbers of 32 bits, as bytes in the portable form of Roaring bitmaps.

Numbers below zero stand behind all others, as if they had no sign. Equal sets have equal bytes: of the three forms of a
container each has the shortest one, and the list of its numbers if runs of them are just as long.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import numpy as np
from pyroaring import BitMap

__all__ = ["from_numbers", "opened", "shown_text", "stored", "to_numbers"]

_HAS_RUNS = 12347
_NUMBERS_OF_CONTAINER = 1 << 16
_MOST_IN_LIST, _BYTES_OF_BITS = 4096, 8192
# Fewer containers do not say where they begin.
_FEWEST_WITH_OFFSETS = 4
# A longer text ends with dots, as that of Java's library.
_LONGEST_TEXT = 0x80000


def opened(data: bytes) -> BitMap:
    """The set of some bytes; ValueError if they are none."""
    if not data:
        raise ValueError("an empty value is not a bitmap: the empty bitmap has eight bytes")
    return BitMap.deserialize(data)


def stored(bitmap: BitMap) -> bytes:
    """The bytes of a set."""
    bitmap.run_optimize()
    data: bytes = bitmap.serialize()
    odd = list(_starts_of_needless_runs(data))
    if not odd:
        return data
    for start in odd:
        numbers = bitmap & BitMap(range(start, start + _NUMBERS_OF_CONTAINER))
        bitmap.remove_range(start, start + _NUMBERS_OF_CONTAINER)
        # One by one, so that they become a list.
        bitmap.update(list(numbers))
    return bytes(bitmap.serialize())


def from_numbers(numbers: Iterable[int | None]) -> BitMap:
    """The set of some numbers, without None."""
    return BitMap([each & 0xFFFFFFFF for each in numbers if each is not None])


def to_numbers(bitmap: BitMap) -> list[int]:
    """The numbers of a set, those below zero last."""
    numbers: list[int] = np.frombuffer(bitmap.to_array(), np.int32).tolist()
    return numbers


def shown_text(data: bytes) -> str:
    """The numbers as people see them, which have no signs."""
    strings: list[str] = []
    length = 1
    for text in map(str, opened(data)):
        if length > _LONGEST_TEXT:
            strings.append("...")
            break
        strings.append(text)
        length += len(text) + 1
    return f"{{{','.join(strings)}}}"


def _starts_of_needless_runs(data: bytes) -> Iterator[int]:
    """Where the containers begin that have runs although a list is as short: which it is depends on how they grew."""
    (cookie,) = struct.unpack_from("<I", data)
    if cookie & 0xFFFF != _HAS_RUNS:
        return
    count = (cookie >> 16) + 1
    has_runs = np.unpackbits(np.frombuffer(data, np.uint8, (count + 7) // 8, 4), bitorder="little")[:count]
    offset = 4 + (count + 7) // 8
    containers = np.frombuffer(data, "<u2", 2 * count, offset).reshape(-1, 2)
    offset += 8 * count if count >= _FEWEST_WITH_OFFSETS else 4 * count
    for (key, last), is_run in zip(containers.tolist(), has_runs.tolist()):
        list_size = 2 * (last + 1)
        if is_run:
            size = 2 + 4 * struct.unpack_from("<H", data, offset)[0]
            if size == list_size:
                yield key * _NUMBERS_OF_CONTAINER
        else:
            size = list_size if last < _MOST_IN_LIST else _BYTES_OF_BITS
        offset += size
