"""Texts in the character sets of MySQL and MariaDB."""

from __future__ import annotations

import codecs
from collections.abc import Callable

__all__ = ["decoder_of", "is_known"]

# As they stand, they are texts as Arrow has them.
_PLAIN = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii"})
# Where Python has another name for it.
_CODECS = {
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "ucs2": "utf_16_be",
    "utf16": "utf_16_be",
    "utf32": "utf_32_be",
    "utf16le": "utf_16_le",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "sjis": "shift_jis",
    "ujis": "euc_jp",
    "euckr": "euc_kr",
    "tis620": "tis_620",
    "macroman": "mac_roman",
    "macce": "mac_latin2",
    **{
        each: each
        for each in [
            "big5",
            "gb2312",
            "gbk",
            "gb18030",
            "cp850",
            "cp852",
            "cp866",
            "cp932",
            "cp1250",
            "cp1251",
            "cp1256",
            "cp1257",
        ]
    },
}
# What is called latin1 there is the code page 1252 of Windows, with other signs where that has none.
_LATIN = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))


def is_known(charset: str) -> bool:
    """Whether its texts can be read."""
    return charset in _PLAIN or charset in _CODECS or charset == "latin1"


def decoder_of(charset: str) -> Callable[[bytes], str] | None:
    """What reads a text; None if nothing is to be done.

    >>> decode = decoder_of("latin1")
    >>> decode and decode(b"5\\x80")
    '5€'
    """
    if charset in _PLAIN:
        return None
    if charset == "latin1":
        return lambda data: codecs.charmap_decode(data, "strict", _LATIN)[0]
    codec = _CODECS[charset]
    return lambda data: data.decode(codec)
