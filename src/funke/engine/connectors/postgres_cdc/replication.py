"""Speaks PostgreSQL's replication protocol: the log is sent as it grows, and received positions are confirmed.

Psycopg has no such connections, but libpq, which it brings, does: docs/decisions/0012.
"""

from __future__ import annotations

import contextlib
import select
import struct
import time
from collections.abc import Mapping
from typing import Any

from funke.engine.connectors.postgres_cdc.log_position import to_text
from funke.engine.errors import SourceError

__all__ = ["ReplicationStream", "literal"]

_STATUS = struct.Struct(">cQQQQB")
_DATA, _KEEPALIVE = b"wk"
_MOST_MESSAGES, _MOST_BYTES = 10_000, 1 << 24
_POSITION = struct.Struct(">Q")
# A job that was killed leaves a connection that the server may not have missed yet.
_WAIT_FOR_SLOT_S = 60.0
_SETTINGS = "-c timezone=UTC -c datestyle=ISO -c bytea_output=hex -c extra_float_digits=1 -c wal_sender_timeout=5min"


class ReplicationStream:
    """The messages of a slot from a position on."""

    def __init__(self, settings: Mapping[str, Any], slot: str, publication: str, start: int, confirmed: int) -> None:
        self._slot = slot
        self._connection = _connect(settings)
        self._confirmed = confirmed
        # Up to here all transactions have been sent.
        self.reached = start
        self._start(start, publication)

    def _start(self, start: int, publication: str) -> None:
        from psycopg.pq import ExecStatus

        command = (
            f"START_REPLICATION SLOT {identifier(self._slot)} LOGICAL {to_text(start)} "
            f"(proto_version '1', publication_names {literal(identifier(publication))})"
        )
        end = time.monotonic() + _WAIT_FOR_SLOT_S
        while True:
            result = self._connection.exec_(command.encode())
            if result.status == ExecStatus.COPY_BOTH:
                self._connection.nonblocking = 1
                return
            message = result.error_message.decode("utf-8", "replace").strip()
            if "is active for PID" not in message or time.monotonic() > end:
                self.close()
                raise SourceError(f"the replication slot '{self._slot}' cannot be read: {message}")
            time.sleep(0.1)

    def take(self, wait_s: float) -> list[Any]:
        """Messages with their headers, as many as there are at once; none if none has come after a while."""
        get = self._connection.get_copy_data
        messages: list[Any] = []
        size = 0
        while len(messages) < _MOST_MESSAGES and size < _MOST_BYTES:
            length, data = get(1)
            if length > 0:
                size += length
                if data[0] == _DATA:
                    messages.append(data)
                elif data[0] == _KEEPALIVE:
                    self._answer(data)
            elif length < 0:
                self._reject()
            elif not self._wait(0.0 if messages else wait_s):
                break
            else:
                wait_s = 0.0
        return messages

    def _answer(self, data: Any) -> None:
        (position,) = _POSITION.unpack_from(data, 1)
        # When it is read, all messages before this one have been taken.
        self.reached = max(self.reached, position)
        if data[17]:
            self.tell()

    def _wait(self, wait_s: float) -> bool:
        ready, _, _ = select.select([self._connection.socket], [], [], wait_s)
        if not ready:
            return False
        self._connection.consume_input()
        return True

    def confirm(self, position: int) -> None:
        """What is before a position is never asked for again."""
        if position > self._confirmed:
            self._confirmed = position
            self.tell()

    def tell(self, wants_answer: bool = False) -> None:
        """Says that the connection lives, and what is confirmed; the answer says how far the server is."""
        position = self._confirmed
        status = _STATUS.pack(b"r", position, position, position, 0, wants_answer)
        self._connection.put_copy_data(status)
        self._connection.flush()

    def _reject(self) -> None:
        detail = self._connection.get_result()
        message = b"" if detail is None else detail.error_message
        text = (message or self._connection.error_message).decode("utf-8", "replace").strip()
        raise SourceError(f"PostgreSQL ended the stream of the replication slot '{self._slot}': {text}")

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.finish()


def _connect(settings: Mapping[str, Any]) -> Any:
    import psycopg
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import ConnStatus, PGconn

    # The order of the options is that of the command line: the user's own come first.
    options = f"{settings.get('options', '')} {_SETTINGS}".strip()
    text = make_conninfo("", **{**settings, "replication": "database", "client_encoding": "UTF8", "options": options})
    connection = PGconn.connect(text.encode())
    if connection.status != ConnStatus.OK:
        message = connection.error_message.decode("utf-8", "replace").strip()
        connection.finish()
        raise psycopg.OperationalError(message)
    return connection


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
