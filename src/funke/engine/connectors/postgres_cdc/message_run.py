"""Messages of the log in the order in which they came, with those of changes together."""

from __future__ import annotations

import re
from typing import Any

from funke.engine.connectors.postgres_cdc.change_block import KIND_AT

__all__ = ["MessageRun"]

# Kinds of messages: a row was inserted, updated, deleted.
_CHANGES = re.compile(rb"[IUD]*")


class MessageRun:
    """Messages that are taken from the front."""

    def __init__(self, messages: list[Any]) -> None:
        self._messages = messages
        self._kinds = bytes([message[KIND_AT] for message in messages])
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._messages)

    def changes(self) -> list[Any]:
        """The changes at the front, up to the first message that is none."""
        match = _CHANGES.match(self._kinds, self._at)
        assert match is not None
        return self._messages[self._at : match.end()]

    def first(self) -> bytes:
        """The first message, without what the stream has put in front of it."""
        return bytes(self._messages[self._at][KIND_AT:])

    def skip(self, count: int) -> None:
        self._at += count
