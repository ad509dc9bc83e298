"""Functions of texts."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.sql.functions.function import Argument, BoundCall, Function
from funke.engine.sql.functions.type_rules import like_argument, nullable_like
from funke.engine.types.logical import (
    BINARY,
    LONGEST,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    IntType,
    MapType,
    VarBinaryType,
    VarCharType,
    any_nullable,
    with_nullable,
)

if TYPE_CHECKING:
    from funke.engine.sql.functions.function import Body, Kernel
    from funke.engine.types.columns.arrays import Datum
    from funke.engine.types.logical import SqlValue

__all__ = ["STRINGS"]

_STRING, _INT, _BOOLEAN, _BYTES = VarCharType(LONGEST), IntType(), BooleanType(), VarBinaryType(LONGEST)


def _by_letters(plain: Kernel, body: Callable[[str], str]) -> Callable[[BoundCall], Kernel]:
    """Kernels for ASCII. Python converts other letters, as Java does: upper of ß is SS, and ẞ in Arrow."""

    def convert(column: Datum) -> Datum:
        if pc.all(pc.string_is_ascii(column), min_count=0).as_py():
            return plain(column)
        if isinstance(column, pa.Scalar):
            return pa.scalar(body(column.as_py()), column.type)
        return pa.array([None if each is None else body(each) for each in column.to_pylist()], column.type)

    return lambda call: convert


def _replace_kernel(call: BoundCall) -> Kernel | None:
    old, new = (each.value for each in call.arguments[1:])
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    return lambda column, *_: pc.replace_substring(column, old, new)


def _varying(arguments: Sequence[Argument]) -> DataType:
    """A text of at most the length of the first argument; bytes stay bytes."""
    first_type: Any = arguments[0].type
    kind = VarBinaryType if isinstance(first_type, BINARY) else VarCharType
    return kind(
        first_type.length if hasattr(first_type, "length") else LONGEST, any_nullable(each.type for each in arguments)
    )


def _trim(*arguments: str) -> str:
    if len(arguments) == 1:
        return arguments[0].strip(" ")
    side, characters, text = arguments
    if side in ("BOTH", "LEADING"):
        text = text.lstrip(characters) if characters else text
    if side in ("BOTH", "TRAILING"):
        text = text.rstrip(characters) if characters else text
    return text


def _trim_type(arguments: Sequence[Argument]) -> DataType:
    return _varying([arguments[-1], *arguments[1:-1]])


def _ltrim(text: str, characters: str = " ") -> str:
    return text.lstrip(characters) if characters else text


def _rtrim(text: str, characters: str = " ") -> str:
    return text.rstrip(characters) if characters else text


def _btrim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def _substring(text: str | bytes, start: int, length: int | None = None) -> str | bytes | None:
    """The part from a position that counts from 1, or from the end if it is negative; 0 is as 1."""
    if length is not None and length < 0:
        return None
    if start > len(text):
        return text[:0]
    first = start - 1 if start > 0 else 0 if start == 0 else len(text) + start
    if first < 0:
        return text[:0]
    return text[first:] if length is None else text[first : first + length]


def _substring_kernel(call: BoundCall) -> Kernel | None:
    indexes = [each.value for each in call.arguments[1:]]
    is_plain = isinstance(call.types[0], VarCharType) and all(isinstance(each, int) and each >= 1 for each in indexes)
    if not is_plain:
        return None
    start = indexes[0] - 1
    stop = start + indexes[1] if len(indexes) > 1 else None
    return lambda text, *_: pc.utf8_slice_codeunits(text, start, stop)


def _concat_type(arguments: Sequence[Argument]) -> DataType:
    return with_nullable(_STRING, any_nullable(each.type for each in arguments))


def _join_type(arguments: Sequence[Argument]) -> DataType:
    """Two of one fixed length give one of a fixed length."""
    types = [each.type for each in arguments]
    length = min(LONGEST, sum(getattr(each, "length", LONGEST) for each in types))
    if any(isinstance(each, BINARY) for each in types):
        is_fixed = all(isinstance(each, BinaryType) for each in types)
        return (BinaryType if is_fixed else VarBinaryType)(length, any_nullable(types))
    is_fixed = all(isinstance(each, CharType) for each in types)
    return (CharType if is_fixed else VarCharType)(length, any_nullable(types))


def _overlay_type(arguments: Sequence[Argument]) -> DataType:
    lengths = [getattr(each.type, "length", LONGEST) for each in arguments[:2]]
    return VarCharType(min(LONGEST, sum(lengths)), any_nullable(each.type for each in arguments))


def _longest_type(arguments: Sequence[Argument]) -> DataType:
    return VarCharType(max(getattr(each.type, "length", 1) for each in arguments[1:]))


def _concat(*parts: SqlValue) -> SqlValue:
    # An empty text, or empty bytes, as the parts are.
    return parts[0][:0].join(parts)


def _concat_kernel(call: BoundCall) -> Kernel | None:
    if any(isinstance(each, BINARY) for each in call.types):
        return None
    return lambda *columns: pc.binary_join_element_wise(*columns, pa.scalar(""), null_handling="emit_null")


def _concat_ws(separator: str | None, *parts: str | None) -> str | None:
    return None if separator is None else separator.join(each for each in parts if each is not None)


def _concat_ws_kernel(call: BoundCall) -> Kernel | None:
    # Arrow loses rows whose parts are all NULL.
    if any_nullable(call.types):
        return None
    return lambda separator, *parts: pc.binary_join_element_wise(*parts, separator, null_handling="emit_null")


def _separator_type(arguments: Sequence[Argument]) -> DataType:
    return with_nullable(_STRING, any_nullable(each.type for each in arguments))


def _pad(text: str, length: int, pad: str, is_left: bool) -> str | None:
    # As Java counts: a character beyond the first 65536 is two.
    units, fill = text.encode("utf-16-le"), pad.encode("utf-16-le")
    missing = 2 * length - len(units)
    if length < 0 or not pad:
        return None
    if missing <= 0:
        return _from_units(units[: 2 * length])
    fill = (fill * (missing // len(fill) + 1))[:missing]
    return _from_units(fill + units if is_left else units + fill)


def _from_units(units: bytes) -> str:
    """The text of Java's characters; an unpaired surrogate is a question mark."""
    return units.decode("utf-16-le", "surrogatepass").encode("utf-8", "replace").decode()


def _position(part: SqlValue, whole: SqlValue, start: int = 1) -> int:
    # The empty text is at position 1, also if the search starts later.
    return int(whole.find(part, max(start - 1, 0))) + 1 if part else 1


def _instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    """The position of the n-th occurrence of a part; from a negative start on, backwards."""
    if occurrence <= 0:
        raise ValueError("nthAppearance must be positive!")
    if start < 0:
        # All of the part must stand there: the text is read from its end.
        index = _instr(text[::-1], part[::-1], -start, occurrence)
        return len(text) - index - len(part) + 2 if index else 0
    index = start - 1
    for _ in range(occurrence if start else 0):
        index = _position(part, text, index + 1)
        if not index:
            return 0
    return index if start else 0


def _overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    count = len(new) if length is None else length
    if start <= 0 or start > len(text):
        return text
    # A part without a length has nothing behind it.
    return text[: start - 1] + new + (text[start - 1 + count :] if count > 0 else "")


def _initcap(text: str) -> str:
    # Words consist of letters and digits of ASCII: 'é' ends one.
    return re.sub(r"[0-9A-Za-z]+", lambda match: match[0][:1].upper() + match[0][1:].lower(), text)


def _left(text: str, length: int) -> str:
    return text[: max(length, 0)]


def _right(text: str, length: int) -> str:
    return text[max(len(text) - length, 0) :] if length > 0 else ""


def _ascii(text: str) -> int:
    if not text:
        return 0
    first = text.encode()[0]
    # Java's bytes have a sign: ASCII('é') is -61.
    return first - 256 if first > 127 else first


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


# Names of character sets that Java and Python spell differently.
_CHARSETS = {"UTF-16": "utf-16-be"}


def _decode(value: bytes, charset: str) -> str | None:
    try:
        return value.decode(_CHARSETS.get(charset.upper(), charset), "replace")
    except LookupError:
        return None


def _encode(text: str, charset: str) -> bytes | None:
    # Java's UTF-16 is big-endian with a byte order mark, Python's that of the machine.
    prefix = b"\xfe\xff" if charset.upper() == "UTF-16" else b""
    try:
        return prefix + text.encode(_CHARSETS.get(charset.upper(), charset), "replace")
    except LookupError:
        return None


def _to_base64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def _from_base64(text: str | bytes) -> str:
    raw = text.encode() if isinstance(text, str) else text
    try:
        return base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True).decode("utf-8", "replace")
    except binascii.Error as problem:
        raise ValueError(f"{text!r} is not base 64: {problem}") from None


def _hex(value: SqlValue) -> str:
    if isinstance(value, int):
        return f"{value & 0xFFFFFFFFFFFFFFFF:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _unhex(text: str) -> bytes | None:
    try:
        if re.search(r"\s", text):
            return None
        # Of an odd number of digits the first one counts as 0.
        return bytes.fromhex("00" + text[1:]) if len(text) % 2 and int(text, 16) >= 0 else bytes.fromhex(text)
    except ValueError:
        return None


def _split_index(text: str, separator: Any, index: int) -> str | None:
    # As in Flink the separator may be the number of a character.
    mark = chr(separator) if isinstance(separator, int) else separator
    if index < 0 or not text:
        return None
    # Without a separator there are words.
    parts = text.split(mark) if mark else re.split(r"\s", text)
    return parts[index] if index < len(parts) else None


# The column that was split last: queries take several parts of the same texts.
_LAST_SPLIT: deque[tuple[Any, str, Any, int]] = deque(maxlen=1)


def _split_parts(text: pa.Array, separator: str) -> tuple[pa.Array, int]:
    """Return the parts of texts (NULL of an empty one), and how many each has at least."""
    for known_text, known_separator, parts, fewest in tuple(_LAST_SPLIT):
        if known_separator == separator and _is_same(known_text, text):
            return parts, fewest
    parts = pc.split_pattern(pc.replace_with_mask(text, pc.equal(text, ""), pa.scalar(None, text.type)), separator)
    fewest = pc.min(pc.list_value_length(parts)).as_py() or 0
    _LAST_SPLIT.append((text, separator, parts, fewest))
    return parts, fewest


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Tell whether two arrays show the same memory."""
    if one.offset != other.offset or len(one) != len(other) or one.type != other.type:
        return False
    pairs = zip(one.buffers(), other.buffers())
    return all(
        (left is None) == (right is None) and (left is None or left.address == right.address) for left, right in pairs
    )


def _split_index_kernel(call: BoundCall) -> Kernel | None:
    separator, index = call.arguments[1].value, call.arguments[2].value
    if not isinstance(separator, str) or not separator or not isinstance(index, int) or index < 0:
        return None

    def split_index(text: Datum, *_: Datum) -> Datum:
        if isinstance(text, pa.Scalar):
            text = pa.array([text.as_py()], text.type)
            return split_index(text)[0]
        parts, fewest = _split_parts(text, separator)
        if fewest <= index:
            has_part = pc.greater(pc.list_value_length(parts), index)
            parts = pc.if_else(has_part, parts, pa.scalar([None] * (index + 1), parts.type))
        return pc.list_element(parts, index)

    return split_index


def _split(text: str, separator: str) -> list[str]:
    if not separator or not text:
        return list(text)
    return text.split(separator)


def _str_to_map(text: str, pair_mark: str = ",", key_mark: str = "=") -> dict[str, str | None]:
    """Both marks are regular expressions. As in Java empty parts at the end are dropped."""
    pairs: dict[str, str | None] = {}
    pair_strings = re.split(pair_mark, text)
    while pair_strings and not pair_strings[-1]:
        pair_strings.pop()
    for each in pair_strings:
        parts = re.split(key_mark, each, maxsplit=1)
        pairs[parts[0]] = parts[1] if len(parts) > 1 else None
    return pairs


# An address as Java takes it apart, with the protocols that Java knows; its ports are numbers.
_URL = re.compile(
    r"(?:url:)?(?P<PROTOCOL>https?|ftp|file|jar|mailto):"
    r"(?://(?P<AUTHORITY>(?:(?P<USERINFO>[^/?#@]*)@)?(?P<HOST>\[[^/?#@\]]*\]|[^/?#@:]*)(?::\d*)?|[^/?#]*@[^/?#]*@[^/?#]*)"
    r"(?=[/?#]|\Z)|(?!//))"
    r"(?P<FILE>(?P<PATH>[^?#]*)(?:\?(?P<QUERY>[^#]*))?)(?:#(?P<REF>.*))?",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_UP_TO_SPACE = "".join(map(chr, range(33)))


def _parse_url(text: str, part: str, key: str | None = None) -> str | None:
    url = _URL.fullmatch(text.strip(_UP_TO_SPACE))
    if url is None or part not in _URL.groupindex or re.search(r"[\x00-\x1f\x7f]", url["AUTHORITY"] or ""):
        return None
    if key is not None:
        match = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", url["QUERY"] or "") if part == "QUERY" else None
        return None if match is None else match[1]
    if part == "HOST":
        return url[part] or ""
    return url[part].lower() if part == "PROTOCOL" else url[part]


def _url_decode(text: str) -> str | None:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    return urllib.parse.unquote_plus(text)


def _url_encode(text: str) -> str:
    # As Java's URLEncoder, which leaves * and writes ~ as %7E; Python does both the other way.
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")


_PRINTED = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?(.?)", re.DOTALL)


def _printf(template: str | None, *values: SqlValue) -> str | None:
    """As Java's formatter writes values; NULL if the template is none, or a value does not fit."""
    if template is None:
        return None
    following = iter(values)

    def printed(match: re.Match[str]) -> str:
        index, flags, width, precision, letter = match.groups()
        if letter and letter in "%n":
            return "%" if letter == "%" else "\n"
        if letter not in "sSdxXofeEgGcbB" or not letter:
            raise ValueError(letter)
        value = values[int(index) - 1] if index else next(following)
        if value is None:
            letter, value, flags = "s", "null", flags.replace("0", "")
        elif letter in "dxXo" and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(value)
        elif letter in "bB":
            letter, value = "s", str(value).lower()
        text: str = f"%{flags.replace(',', '')}{width or ''}{'.' + precision if precision else ''}{letter}" % value
        return text.upper() if letter in "SX" else text

    try:
        return _PRINTED.sub(printed, template)
    except (TypeError, ValueError, IndexError, StopIteration):
        return None


def _translate(text: str | None, source: str | None, target: str | None) -> str | None:
    if text is None or source is None or target is None:
        return text
    table: dict[int, str | None] = {}
    # Letters without a counterpart go; of a letter that stands there twice the first one counts.
    for index, letter in enumerate(source):
        table.setdefault(ord(letter), target[index] if index < len(target) else None)
    return text.translate(table)


def _inet_aton(text: str) -> int | None:
    """The number of an address; the last part is the last byte, and those between may be left out."""
    parts = text.split(".")
    if len(parts) > 4 or not all(each.isascii() and each.isdigit() and int(each) < 256 for each in parts):
        return None
    *first, last = map(int, parts)
    return sum(each << 8 * (3 - index) for index, each in enumerate(first)) + last


def _inet_ntoa(number: int) -> str | None:
    return ".".join(map(str, number.to_bytes(4, "big"))) if 0 <= number < 1 << 32 else None


def _elt(index: int | None, *values: SqlValue) -> SqlValue:
    return None if index is None or not 1 <= index <= len(values) else values[index - 1]


def _function(names: str, forms: str, result: Any, body: Body, purpose: str, kernel: Any = None) -> Function:
    return Function(tuple(names.split("/")), forms, result, body, kernel_for=kernel, purpose=purpose)


def _maybe(names: str, forms: str, result: Any, body: Body, purpose: str, kernel: Any = None) -> Function:
    return Function(
        tuple(names.split("/")), forms, result, body, kernel_for=kernel, purpose=purpose, may_give_null=True
    )


def _on_strings(kernel: Kernel) -> Callable[[BoundCall], Kernel]:
    return lambda call: kernel


STRINGS: tuple[Function, ...] = (
    _function(
        "upper", "text", like_argument(), str.upper, "The text in capitals.", _by_letters(pc.ascii_upper, str.upper)
    ),
    _function(
        "lower",
        "text",
        like_argument(),
        str.lower,
        "The text in small letters.",
        _by_letters(pc.ascii_lower, str.lower),
    ),
    _function(
        "trim",
        "text | symbol, text, text",
        _trim_type,
        _trim,
        "The text without spaces, or other characters, at its ends.",
    ),
    _function("ltrim", "text, text?", _varying, _ltrim, "The text without spaces, or other characters, at its start."),
    _function("rtrim", "text, text?", _varying, _rtrim, "The text without spaces, or other characters, at its end."),
    _function("btrim", "text, text?", _STRING, _btrim, "The text without spaces, or other characters, at both ends."),
    _maybe(
        "substring/substr",
        "text/bytes, integer, integer?",
        _varying,
        _substring,
        "The part from a position on, which counts from 1, or from the end if it is negative.",
        _substring_kernel,
    ),
    _function("concat", "text...", _concat_type, _concat, "Texts one after the other.", _concat_kernel),
    _function("||", "text, text | bytes, bytes", _join_type, _concat, "Two texts one after the other.", _concat_kernel),
    Function(
        ("concat_ws",),
        "text, text...",
        _separator_type,
        _concat_ws,
        kernel_for=_concat_ws_kernel,
        is_strict=False,
        purpose="Texts with a separator between them, without those that are NULL.",
    ),
    _function(
        "char_length/character_length",
        "text",
        _INT,
        len,
        "The number of characters.",
        _on_strings(pc.utf8_length),
    ),
    _function(
        "octet_length",
        "text/bytes",
        _INT,
        lambda value: len(value.encode() if isinstance(value, str) else value),
        "The number of bytes.",
    ),
    _function(
        "replace",
        "text, text, text",
        _STRING,
        lambda text, old, new: text.replace(old, new),
        "The text with every occurrence of a part replaced.",
        _replace_kernel,
    ),
    Function(
        ("translate", "translate3"),
        "text, text, text",
        nullable_like(_STRING, 0),
        _translate,
        is_strict=False,
        purpose="The text with characters replaced one by one; as it is if it is not said by which.",
    ),
    _maybe(
        "split_index",
        "text, text/integer, integer",
        _STRING,
        _split_index,
        "The n-th part of a text, from 0.",
        _split_index_kernel,
    ),
    _function("split", "text, text", ArrayType(_STRING), _split, "The parts of a text."),
    _function(
        "lpad", "text, integer, text", _STRING, lambda t, n, p: _pad(t, n, p, True), "The text filled on the left."
    ),
    _function(
        "rpad", "text, integer, text", _STRING, lambda t, n, p: _pad(t, n, p, False), "The text filled on the right."
    ),
    _function(
        "position", "text, text, integer? | bytes, bytes", _INT, _position, "Where a part stands, from 1; 0 if nowhere."
    ),
    _function(
        "locate",
        "text, text, integer?",
        _INT,
        _position,
        "The position of a part, searched from a position on; 0 if nowhere.",
    ),
    _function(
        "instr", "text, text, integer?, integer?", _INT, _instr, "Where a part stands for the n-th time; 0 if nowhere."
    ),
    _function(
        "overlay",
        "text, text, integer, integer?",
        _overlay_type,
        _overlay,
        "The text with a part at a position replaced.",
    ),
    _function("initcap", "text", like_argument(), _initcap, "The text with a capital at the start of every word."),
    _maybe("reverse", "text", _STRING, lambda text: text[::-1], "The text backwards.", _on_strings(pc.utf8_reverse)),
    _function("repeat", "text, integer", _STRING, lambda text, count: text * max(count, 0), "The text several times."),
    _maybe("left", "text, integer", _varying, _left, "The first characters."),
    _maybe("right", "text, integer", _varying, _right, "The last characters."),
    _function("ascii", "text", _INT, _ascii, "The number of the first byte."),
    _maybe("chr", "integer", _STRING, _chr, "The character of a number, which counts modulo 256."),
    _function("decode", "bytes, text", _STRING, _decode, "The text of bytes in a character set."),
    _function("encode", "text, text", _BYTES, _encode, "The bytes of a text in a character set."),
    _function("to_base64", "text/bytes", _STRING, _to_base64, "The text in base 64."),
    _function("from_base64", "text/bytes", _STRING, _from_base64, "The text of one in base 64."),
    _function("hex", "text/bytes/integer", _STRING, _hex, "The hexadecimal digits of a number or of a text's bytes."),
    _maybe("unhex", "text", _BYTES, _unhex, "The bytes of hexadecimal digits."),
    _maybe(
        "str_to_map",
        "text, text?, text?",
        MapType(_STRING, _STRING),
        _str_to_map,
        "The map that a text of keys and values describes.",
    ),
    _maybe("parse_url", "text, text, text?", _STRING, _parse_url, "A part of an address: HOST, PATH, QUERY …"),
    _maybe("url_encode", "text", _STRING, _url_encode, "The text as part of an address."),
    _maybe("url_decode", "text", _STRING, _url_decode, "The text of a part of an address."),
    _function(
        "startswith",
        "text, text | bytes, bytes",
        _BOOLEAN,
        lambda a, b: a.startswith(b),
        "Whether a text starts with another.",
    ),
    _function(
        "endswith",
        "text, text | bytes, bytes",
        _BOOLEAN,
        lambda a, b: a.endswith(b),
        "Whether a text ends with another.",
    ),
    Function(
        ("printf",),
        "text, any...",
        _STRING,
        _printf,
        is_strict=False,
        may_give_null=True,
        purpose="The values in a template like C's.",
    ),
    _maybe("inet_aton", "text", BigIntType(), _inet_aton, "The number of an address like 10.0.5.9."),
    _maybe("inet_ntoa", "integer", _STRING, _inet_ntoa, "The address of a number."),
    Function(
        ("elt",),
        "integer, text...",
        _longest_type,
        _elt,
        is_strict=False,
        may_give_null=True,
        purpose="The n-th of several texts, from 1.",
    ),
)
