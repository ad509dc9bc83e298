"""A position in a list of tokens: looking ahead, taking what is expected, and the error for what is not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn, TypeVar

from funke.engine.errors import SqlParserError, SqlValidationError
from funke.engine.sql.parsing.reserved_words import RESERVED_WORDS
from funke.engine.sql.parsing.tokens import Token, tokenize
from funke.engine.sql.syntax.position import Position

__all__ = ["Cursor"]

T = TypeVar("T")


class Cursor:
    """Reads tokens from left to right; the grammars are built on it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self._index = 0
        self._line_starts = [0, *(position + 1 for position, character in enumerate(text) if character == "\n")]
        self.token = self._tokens[0]

    def position(self, token: Token | None = None) -> Position:
        """The line and column of a token, of the current one by default."""
        return self._position_of((token or self.token).start)

    def _position_of(self, index: int) -> Position:
        # Lines and columns count from 1, as in Flink's messages.
        line = bisect_right(self._line_starts, index)
        return Position(line, index - self._line_starts[line - 1] + 1)

    def span(self, start: Position) -> Position:
        """The position from a start to the end of the last token taken."""
        return start.to(self._position_of(self.before().end - 1))

    def token_span(self, token: Token) -> Position:
        """The place of a token, from its first character to its last."""
        return self._position_of(token.start).to(self._position_of(token.end - 1))

    def since(self, first: Token) -> str:
        """The text from a token to the one that was taken last."""
        return self.text[first.start : self.before().end]

    def ahead(self, distance: int = 1) -> Token:
        """The token that many tokens behind the current one."""
        return self._tokens[min(self._index + distance, len(self._tokens) - 1)]

    def before(self) -> Token:
        """The token that was taken last."""
        return self._tokens[self._index - 1]

    def advance(self) -> Token:
        """Take the current token."""
        token = self.token
        if token.kind != "end":
            self._index += 1
            self.token = self._tokens[self._index]
        return token

    def at(self, *keys: str) -> bool:
        """Tell whether the next tokens are these words and operators."""
        if self.token.key != keys[0]:
            return False
        return all(self.ahead(distance).key == key for distance, key in enumerate(keys[1:], 1))

    def at_any(self, *keys: str) -> bool:
        """Tell whether the next token is one of these words and operators."""
        return self.token.key in keys

    def accept(self, *keys: str) -> bool:
        """Take these words and operators if they come next."""
        if not self.at(*keys):
            return False
        for _ in keys:
            self.advance()
        return True

    def accept_any(self, *keys: str) -> str | None:
        """Take the next token if it is one of these words and operators, and return it."""
        return self.advance().key if self.token.key in keys else None

    def expect(self, *keys: str) -> Token:
        """Take these words and operators, or reject the first other token; the last one is returned."""
        token = self.token
        for key in keys:
            if self.token.key != key:
                self.reject()
            token = self.advance()
        return token

    def expect_any(self, *keys: str) -> str:
        """Take one of these words and operators and return it, or reject the token."""
        return self.accept_any(*keys) or self.reject()

    def reject(self, token: Token | None = None) -> NoReturn:
        """Raise the error that this token, by default the current one, cannot stand where it is."""
        token = token or self.token
        position = self.position(token)
        if token.kind == "unknown":
            self._reject_unknown(token)
        self.fail_at(position, f'Encountered "{self._shown_text(token)}" at {position}.')

    def reject_word(self) -> NoReturn:
        """Raise the error that the current token cannot stand where a name could; a reserved word is named."""
        # Flink says "Incorrect syntax near the keyword …" of a reserved word, and "Encountered …" of any other token.
        if self.token.kind == "word" and self.token.key in RESERVED_WORDS:
            self.reject_pair(self.token, self.ahead())
        self.reject()

    def reject_pair(self, token: Token, following: Token) -> NoReturn:
        """Raise the error that a token cannot be followed by another."""
        position = self.position(token)
        if token.kind == "word":
            self.fail_at(position, f"Incorrect syntax near the keyword '{token.key}' at {position}.")
        pair = f"{self._shown_text(token)} {self._shown_text(following)}"
        self.fail_at(position, f'Encountered "{pair}" at {position}.')

    def _shown_text(self, token: Token) -> str:
        text = self.text[token.start : token.end] or "<EOF>"
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise an error about this token, by default the current one."""
        position = self.position(token)
        self.fail_at(position, f"{message} at {position}.")

    def fail_to_mean(self, message: str, first: Token) -> NoReturn:
        """Raise the error that what was taken since a token can be read, and means nothing."""
        # Flink's parser accepts such a text and its validator rejects it, hence the other class of error.
        raise SqlValidationError(f"SQL validation failed. {self.span(self.position(first)).location}: {message}")

    def fail_at(self, position: Position, message: str) -> NoReturn:
        """Raise an error with a text of its own."""
        raise SqlParserError(message, position.line, position.column)

    def _reject_unknown(self, token: Token) -> NoReturn:
        """Raise the error about a character that starts nothing, or about what has no end."""
        position, first = self.position(token), token.text[0]
        if first in "'\"":
            quote = first.replace('"', '\\"')
            self.fail_at(position, f'Encountered "{quote}" at {position}.')
        if first in "xX":
            self.fail_at(position, "Binary literal string must contain only characters '0' - '9', 'A' - 'F'")
        if len(token.text) == 1:
            self.fail_at(position, f'Lexical error at {position}.  Encountered: "{first}" ({ord(first)}), after : ""')
        end = self.position(replace(token, start=len(self.text)))
        self.fail_at(end, f'Lexical error at {end}.  Encountered: <EOF> after : "{token.text}"')

    # Names

    def at_identifier(self) -> bool:
        """Tell whether a name comes next: quoted, or a word that is not reserved."""
        token = self.token
        return token.kind == "quoted" or (token.kind == "word" and token.key not in RESERVED_WORDS)

    def identifier(self) -> str:
        """Take a name."""
        if not self.at_identifier():
            self.reject_word()
        return self.advance().text

    def path(self) -> tuple[str, ...]:
        """Take a name with the names before it: catalog.database.table."""
        parts = [self.identifier()]
        while self.at("."):
            parts.append(self.behind(self.advance(), self.identifier))
        return tuple(parts)

    def names(self) -> tuple[str, ...]:
        """Take names in parentheses."""
        return self.in_parentheses(self.identifier)

    def placed_names(self) -> tuple[tuple[str, ...], Position]:
        """Take names in parentheses, and tell where they stand, from the first to the last."""
        first = self.position(self.ahead())
        self.expect("(")
        names = self.separated(self.identifier)
        position = self.span(first)
        self.expect(")")
        return names, position

    # Repetition

    def behind(self, token: Token, read: Callable[[], T]) -> T:
        """Take what must follow a token that was just taken.

        If nothing of it does, the error is at the token, as in Flink's parser, which looks one token ahead there.
        """
        following = self.token
        try:
            return read()
        except SqlParserError:
            if self.token is following:
                self.reject_pair(token, following)
            raise

    def separated(self, one: Callable[[], T]) -> tuple[T, ...]:
        """Take one or more, with commas between."""
        items = [one()]
        while self.accept(","):
            items.append(one())
        return tuple(items)

    def in_parentheses(self, one: Callable[[], T]) -> tuple[T, ...]:
        """Take one or more, with commas between and parentheses around."""
        self.expect("(")
        items = self.separated(one)
        self.expect(")")
        return items

    # Plain values

    def string(self) -> str:
        """Take a text in quotes."""
        if self.token.kind != "string":
            self.reject()
        return self.advance().text

    def whole_number(self) -> int:
        """Take a number without a sign or point."""
        if self.token.kind != "number" or not self.token.text.isdigit():
            self.reject()
        return int(self.advance().text)

    def options(self) -> tuple[tuple[str, str], ...]:
        """Take ('key' = 'value', …), which may be empty."""
        self.expect("(")
        if self.accept(")"):
            return ()
        pairs = self.separated(self._option)
        self.expect(")")
        return pairs

    def _option(self) -> tuple[str, str]:
        key = self.string()
        self.expect("=")
        return key, self.string()

    def comment(self) -> str | None:
        """Take COMMENT '…' if it comes next."""
        return self.string() if self.accept("COMMENT") else None

    def if_exists(self) -> bool:
        """Take IF EXISTS if it comes next."""
        return self.accept("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        """Take IF NOT EXISTS if it comes next."""
        return self.accept("IF", "NOT", "EXISTS")
