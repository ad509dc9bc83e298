"""Texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.members import Members, Unary
from funke.table.expression_members.operands import symbol, to_syntax

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["TextMembers"]


class TextMembers(Members):
    """Functions of texts and bytes."""

    char_length = Unary("char_length", "The number of characters.")
    upper_case = Unary("upper", "In capital letters.")
    lower_case = Unary("lower", "In small letters.")
    init_cap = Unary("initcap", "With a capital letter at the beginning of every word.")
    from_base64 = Unary("from_base64", "The text behind a text in base 64.")
    to_base64 = Unary("to_base64", "The text in base 64.")
    ascii = Unary("ascii", "The number of the first character.")
    chr = Unary("chr", "The character of a number.")
    reverse = Unary("reverse", "Backwards.")
    md5 = Unary("md5", "The MD5 hash in hexadecimal digits.")
    sha1 = Unary("sha1", "The SHA-1 hash in hexadecimal digits.")
    sha224 = Unary("sha224", "The SHA-224 hash in hexadecimal digits.")
    sha256 = Unary("sha256", "The SHA-256 hash in hexadecimal digits.")
    sha384 = Unary("sha384", "The SHA-384 hash in hexadecimal digits.")
    sha512 = Unary("sha512", "The SHA-512 hash in hexadecimal digits.")

    def sha2(self, hash_length: Any) -> Expression[str]:
        """Return the SHA-2 hash of 224, 256, 384 or 512 bits in hexadecimal digits."""
        return self._call("sha2", hash_length)

    def concat(self, other: Any) -> Expression[str]:
        """Append another text."""
        return self._call("concat", other)

    def starts_with(self, start_expr: Any) -> Expression[bool]:
        """Whether this begins with a text or with bytes."""
        return self._call("startswith", start_expr)

    def ends_with(self, end_expr: Any) -> Expression[bool]:
        """Whether this ends with a text or with bytes."""
        return self._call("endswith", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression[str]:
        """Return the part that begins at a position, which counts from 1."""
        return self._call_given("substring", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Expression[str]:
        """Return the part that begins at a position, which counts from 1."""
        return self._call_given("substr", begin_index, length)

    def trim_leading(self, character: Any = None) -> Expression[str]:
        """Remove spaces, or another character, from the beginning."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression[str]:
        """Remove spaces, or another character, from the end."""
        return self._trim("TRAILING", character)

    def trim(self, character: Any = None) -> Expression[str]:
        """Remove spaces, or another character, from both ends."""
        return self._trim("BOTH", character)

    def _trim(self, side: str, character: Any) -> Expression[str]:
        removed = to_syntax(" " if character is None else character)
        return self._of(syntax.Call("trim", (symbol(side), removed, self._syntax)))

    def replace(self, search: Any = None, replacement: Any = None) -> Expression[str]:
        """Put a text in all places of another one."""
        return self._call("replace", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression[str]:
        """Put characters in the place of others, one by one."""
        return self._call("translate", from_str, to_str)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression[bool]:
        """Whether this fits a pattern with `_` for one character and `%` for any number of them."""
        return self._call("like", pattern) if escape is None else self._call("like", pattern, escape)

    def similar(self, pattern: Any = None) -> Expression[bool]:
        """Whether this fits a regular expression of SQL."""
        return self._call("similar to", pattern)

    def position(self, haystack: Any = None) -> Expression[int]:
        """Return where this first stands in a text, from 1; 0 if it does not."""
        return self._call("position", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression[str]:
        """Fill up at the beginning, or cut, to a length."""
        return self._call("lpad", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression[str]:
        """Fill up at the end, or cut, to a length."""
        return self._call("rpad", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression[str]:
        """Put a text over a part that begins at a position, which counts from 1."""
        return self._call_given("overlay", new_string, starting, length)

    def regexp(self, regex: Any) -> Expression[bool]:
        """Whether a part fits a regular expression."""
        return self._call("regexp", regex)

    def regexp_count(self, regex: Any) -> Expression[int]:
        """Count the parts that fit a regular expression."""
        return self._call("regexp_count", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression[str]:
        """Put a text in the place of all parts that fit a regular expression."""
        return self._call("regexp_replace", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression[str]:
        """Return a group of the first part that fits a regular expression."""
        return self._call_given("regexp_extract", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """Return a group of every part that fits a regular expression."""
        return self._call_given("regexp_extract_all", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Expression[int]:
        """Return where the first part that fits a regular expression begins, from 1."""
        return self._call("regexp_instr", regex)

    def regexp_substr(self, regex: Any) -> Expression[str]:
        """Return the first part that fits a regular expression."""
        return self._call("regexp_substr", regex)

    def decode(self, charset: Any) -> Expression[str]:
        """Return the text of bytes in a character set."""
        return self._call("decode", charset)

    def encode(self, charset: Any) -> Expression[bytes]:
        """Return the bytes of a text in a character set."""
        return self._call("encode", charset)

    def left(self, length: Any) -> Expression[str]:
        """Return the first characters."""
        return self._call("left", length)

    def right(self, length: Any) -> Expression[str]:
        """Return the last characters."""
        return self._call("right", length)

    def instr(self, s: Any) -> Expression[int]:
        """Return where a text first stands in this, from 1; 0 if it does not."""
        return self._call("instr", s)

    def locate(self, s: Any, pos: Any = None) -> Expression[int]:
        """Return where this first stands in a text, looked for from a position on."""
        return self._call_given("locate", s, pos)

    def url_decode(self) -> Expression[str]:
        """Return the text behind a text as it stands in a URL."""
        return self._call("url_decode")

    def url_encode(self) -> Expression[str]:
        """Return the text as it stands in a URL."""
        return self._call("url_encode")

    def inet_aton(self) -> Expression[int]:
        """Return the number of an IPv4 address."""
        return self._call("inet_aton")

    def inet_ntoa(self) -> Expression[str]:
        """Return the IPv4 address of a number."""
        return self._call("inet_ntoa")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression[str]:
        """Return a part of a URL, HOST for example, or one key of its QUERY."""
        return self._call_given("parse_url", part_to_extract, key)

    def printf(self, *obj: Any) -> Expression[str]:
        """Fill values into this format."""
        return self._call("printf", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression[str]:
        """Remove spaces, or other characters, from the beginning."""
        return self._call_given("ltrim", trim_str)

    def rtrim(self, trim_str: Any = None) -> Expression[str]:
        """Remove spaces, or other characters, from the end."""
        return self._call_given("rtrim", trim_str)

    def btrim(self, trim_str: Any = None) -> Expression[str]:
        """Remove spaces, or other characters, from both ends."""
        return self._call_given("btrim", trim_str)

    def repeat(self, n: Any) -> Expression[str]:
        """Repeat this n times."""
        return self._call("repeat", n)

    def split_index(self, separator: Any, index: Any) -> Expression[str]:
        """Split, and return the part at a position, which counts from 0."""
        return self._call("split_index", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Expression[Any]:
        """Return the entries of a text such as `a=1,b=2`."""
        if list_delimiter is None or key_value_delimiter is None:
            return self._call("str_to_map")
        return self._call("str_to_map", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """Return the value at the position that this is, from 1."""
        return self._call("elt", expr, *exprs)

    def split(self, delimiter: Any) -> Expression[Any]:
        """Split into an array."""
        return self._call("split", delimiter)
