"""JSON as MySQL stores it, as the text that it shows; MariaDB stores texts."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from decimal import Context, Decimal

from funke.engine.connectors.mysql_cdc.stored_columns import DATE, DECIMAL, DIGIT_BYTES

__all__ = ["json_text"]

_OBJECTS, _ARRAYS, _LARGE = (0, 1), (2, 3), (1, 3)
_LITERAL, _STRING, _OPAQUE = 4, 12, 15
_LITERALS = ("null", "true", "false")
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q", 11: "<d"}
# Small enough to stand where the place of a value would.
_INSIDE = {False: (_LITERAL, 5, 6), True: (_LITERAL, 5, 6, 7, 8)}
_TIMESTAMP, _TIME, _DATETIME = 7, 11, 12
_EXACT = Context(prec=100)


def json_text(data: bytes) -> str:
    """The text of a value."""
    return _value(data[0], data, 1) if data else "null"


def _value(kind: int, data: bytes, at: int) -> str:
    if kind in _OBJECTS or kind in _ARRAYS:
        return _container(kind, data[at:])
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _NUMBERS:
        (number,) = struct.unpack_from(_NUMBERS[kind], data, at)
        return repr(number).replace("e+", "e")
    if kind == _STRING:
        size, at = _size(data, at)
        return json.dumps(data[at : at + size].decode(), ensure_ascii=False)
    if kind == _OPAQUE:
        size, begin = _size(data, at + 1)
        return _opaque(data[at], data[begin : begin + size])
    raise ValueError(f"JSON of an unknown kind {kind}")


def _container(kind: int, data: bytes) -> str:
    is_large = kind in _LARGE
    form, width = ("<I", 4) if is_large else ("<H", 2)
    (count,) = struct.unpack_from(form, data)
    at, names = 2 * width, []
    if kind in _OBJECTS:
        for _ in range(count):
            (offset,) = struct.unpack_from(form, data, at)
            (size,) = struct.unpack_from("<H", data, at + width)
            names.append(json.dumps(data[offset : offset + size].decode(), ensure_ascii=False))
            at += width + 2
    values = []
    for _ in range(count):
        inner = data[at]
        (offset,) = struct.unpack_from(form, data, at + 1)
        values.append(_value(inner, data, at + 1 if inner in _INSIDE[is_large] else offset))
        at += 1 + width
    if kind in _ARRAYS:
        return f"[{', '.join(values)}]"
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values)) + "}"


def _size(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits in each byte, and where it ends."""
    size = shift = 0
    while True:
        byte = data[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return size, at


def _opaque(kind: int, data: bytes) -> str:
    show = _SHOWN.get(kind)
    if show is None:
        return json.dumps(f"base64:type{kind}:{base64.b64encode(data).decode()}")
    return show(data)


def _decimal(data: bytes) -> str:
    precision, scale, digits = data[0], data[1], bytearray(data[2:])
    is_negative = digits[0] < 0x80
    digits[0] ^= 0x80
    if is_negative:
        digits = bytearray(byte ^ 0xFF for byte in digits)
    whole = precision - scale
    number = at = 0
    for group in (whole % 9, *[9] * (whole // 9), *[9] * (scale // 9), scale % 9):
        end = at + DIGIT_BYTES[group]
        number, at = number * 10**group + int.from_bytes(digits[at:end], "big"), end
    return str(Decimal(-number if is_negative else number).scaleb(-scale, _EXACT))


def _timestamp(data: bytes) -> str:
    """Packed as in columns, with 24 bits for microseconds."""
    packed = int.from_bytes(data[:8], "little")
    date, clock, micros = packed >> 41, packed >> 24 & 0x1FFFF, packed & 0xFFFFFF
    day = f"{(date >> 5) // 13:04d}-{(date >> 5) % 13:02d}-{date & 31:02d}"
    return f'"{day} {_clock(clock)}.{micros:06d}"'


def _day(data: bytes) -> str:
    return _timestamp(data)[:11] + '"'


def _time(data: bytes) -> str:
    packed = int.from_bytes(data[:8], "little", signed=True)
    sign, packed = "-" if packed < 0 else "", abs(packed)
    return f'"{sign}{_clock(packed >> 24)}.{packed & 0xFFFFFF:06d}"'


def _clock(clock: int) -> str:
    return f"{clock >> 12 & 0x3FF:02d}:{clock >> 6 & 63:02d}:{clock & 63:02d}"


_SHOWN: dict[int, Callable[[bytes], str]] = {
    DECIMAL: _decimal,
    DATE: _day,
    _TIME: _time,
    _TIMESTAMP: _timestamp,
    _DATETIME: _timestamp,
}
