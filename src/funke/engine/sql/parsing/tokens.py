"""The tokens of Flink's SQL: sqlglot's tokenizer with a dialect of our own.

Words are not told apart here: whether one is a keyword depends on where it stands, and the grammar decides that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as SqlglotToken
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer

__all__ = ["Token", "tokenize"]

Kind = Literal["word", "quoted", "string", "unicode", "bytes", "number", "operator", "unknown", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text from `start` to before `end`; `key` is a word in capitals, an operator as it is."""

    kind: Kind
    text: str
    key: str
    start: int
    end: int


class _FlinkTokenizer(Tokenizer):
    QUOTES = ["'"]  # noqa: RUF012  (as sqlglot declares it)
    STRING_ESCAPES = ["'"]  # noqa: RUF012
    IDENTIFIERS = ["`"]  # noqa: RUF012
    HEX_STRINGS = [("x'", "'"), ("X'", "'")]  # noqa: RUF012
    UNICODE_STRINGS = [("u&'", "'"), ("U&'", "'")]  # noqa: RUF012
    COMMENTS = ["--", "//", ("/*", "*/")]  # noqa: RUF012
    NESTED_COMMENTS = False
    VAR_SINGLE_TOKENS = {"$"}  # noqa: RUF012
    # Hints may stand behind any name; elsewhere they are comments.
    TOKENS_PRECEDING_HINT = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN}  # noqa: RUF012
    COMMANDS: ClassVar[set[TokenType]] = set()
    # No words: sqlglot's keywords are not Flink's.
    KEYWORDS = {  # noqa: RUF012
        "/*+": TokenType.HINT,
        "||": TokenType.DPIPE,
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        "=>": TokenType.FARROW,
        "::": TokenType.DCOLON,
        "->": TokenType.ARROW,
    }


_KINDS: dict[TokenType, Kind] = {
    TokenType.VAR: "word",
    TokenType.IDENTIFIER: "quoted",
    TokenType.STRING: "string",
    TokenType.NATIONAL_STRING: "string",
    TokenType.UNICODE_STRING: "unicode",
    TokenType.HEX_STRING: "bytes",
    TokenType.NUMBER: "number",
    TokenType.UNKNOWN: "unknown",
    TokenType.PARAMETER: "unknown",
    TokenType.HASH: "unknown",
    TokenType.BACKSLASH: "unknown",
}


def tokenize(text: str) -> list[Token]:
    """Split a text into its tokens; the last one is the end, which stands where the last character does.

    A string or name that is not closed becomes an unknown token up to the end of the text.
    """
    tokens: list[Token] = []
    for each in _sqlglot_tokens(text):
        if each.token_type == TokenType.HINT:
            tokens += _hint_tokens(text, each)
        else:
            tokens.append(_to_token(each))
    if any(each.key == "." for each in tokens):
        tokens = _with_fractions(tokens, text)
    last = max(len(text) - 1, 0)
    tokens.append(Token("end", "<EOF>", "<EOF>", last, last))
    return tokens


def _sqlglot_tokens(text: str) -> list[SqlglotToken]:
    tokenizer = _FlinkTokenizer()
    try:
        return tokenizer.tokenize(text)
    except TokenError:
        start = _start_of_unclosed(text)
        unclosed = SqlglotToken(TokenType.UNKNOWN, text[start:], start=start, end=len(text) - 1)
        return [*tokenizer.tokenize(text[:start]), unclosed]


def _start_of_unclosed(text: str) -> int:
    """The start of the string, name or comment that has no end: the last offset up to which the text is well-formed."""
    starts = [index for index, character in enumerate(text) if character in "'`/xX"]
    # Each try reads the text again, which only a statement with an error pays for.
    for start in reversed(starts):
        try:
            _FlinkTokenizer().tokenize(text[:start])
        except TokenError:
            continue
        return start - 1 if text[start] == "'" and text[start - 1 : start] in ("x", "X") else start
    return 0


def _to_token(token: SqlglotToken) -> Token:
    kind = _KINDS.get(token.token_type, "operator")
    text = token.text
    key = text.upper() if kind == "word" else text if kind == "operator" else ""
    return Token(kind, text, key, token.start, token.end + 1)


def _hint_tokens(text: str, hint: SqlglotToken) -> list[Token]:
    """A hint is one token for sqlglot; here it is its signs and the tokens between them."""
    start, end = hint.start + len("/*+"), hint.end + 1 - len("*/")
    inner = [replace(each, start=each.start + start, end=each.end + start) for each in tokenize(text[start:end])]
    opening, closing = (
        Token("operator", "/*+", "/*+", hint.start, start),
        Token("operator", "*/", "*/", end, hint.end + 1),
    )
    return [opening, *inner[:-1], closing]


def _with_fractions(tokens: list[Token], text: str) -> list[Token]:
    """Join `.` and `5` to the number `.5` where no name stands before the point."""
    joined: list[Token] = []
    for token in tokens:
        before = joined[-1] if joined else None
        if token.kind == "number" and before is not None and before.key == "." and before.end == token.start:
            owner = joined[-2] if len(joined) > 1 else None
            if owner is None or owner.end != before.start or (owner.kind == "operator" and owner.key not in ")]"):
                joined[-1] = Token("number", text[before.start : token.end], "", before.start, token.end)
                continue
        joined.append(token)
    return joined
