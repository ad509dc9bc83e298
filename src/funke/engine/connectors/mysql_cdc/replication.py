"""Has the server send its binary log, as to a replica, on a connection of PyMySQL's: docs/decisions/0013."""

from __future__ import annotations

import contextlib
import struct
import time

from funke.engine.connectors.mysql_cdc.gtids import HEADS, GtidSet, gtids_before
from funke.engine.connectors.mysql_cdc.log_events import FORMAT, HEARTBEAT, ROTATE, LogEvent, rotated_to
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.packets import Packets, error_of
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings
from funke.engine.errors import SourceError

__all__ = ["LogStream", "gtids_before_file", "time_of_file"]

_DUMP = 0x12
_HEADER = struct.Struct("<IBIIIH")
_OK, _ERROR, _END = 0x00, 0xFF, 0xFE
_MOST_BYTES = 1 << 22
_ARTIFICIAL = 0x20
_PATIENCE_S = 60.0
# Behind a byte of the protocol and the header.
_CONTENT_AT = 20
_SUM, _HAS_SUMS = 4, 1
_LOG_GONE, _SLOW_S = 1236, 86_400


class LogStream:
    """The events of the log from a position on."""

    def __init__(self, settings: MySqlCdcSettings, start: LogPosition) -> None:
        self._heartbeat_s = max(0.1, settings.heartbeat_ms / 1000)
        self._start = start
        self._file, self._offset = start.file, start.offset
        self._packets = Packets()
        # How long the sum behind each event is.
        self._sum = 0
        # When files that have been read were begun.
        self.file_times: dict[str, int] = {}
        self._heard_at = time.monotonic()
        self._connection = settings.connect()
        try:
            with self._connection.cursor() as cursor:
                # Sums behind events are known; MariaDB's own marks of transactions are, too; a job may read slowly.
                cursor.execute("SET @master_binlog_checksum = @@global.binlog_checksum, @mariadb_slave_capability = 4")
                cursor.execute("SELECT @@global.binlog_checksum")
                self._sum = 0 if cursor.fetchone()[0] == "NONE" else _SUM
                cursor.execute(f"SET @master_heartbeat_period = {int(self._heartbeat_s * 1e9)}")
                cursor.execute(f"SET SESSION net_write_timeout = {_SLOW_S}")
            order = struct.pack("<IHI", start.offset, 0, settings.server_id) + start.file.encode()
            self._connection._execute_command(_DUMP, order)
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> LogPosition:
        """Up to here all events have been taken."""
        return LogPosition(self._file, self._offset)

    def take(self, wait_s: float) -> list[LogEvent]:
        """Events, as many as there are at once; none if none has come after a while."""
        events: list[LogEvent] = []
        size = 0
        while size < _MOST_BYTES:
            packet = self._packets.take()
            if packet is None:
                if not self._receive(0.0 if events else wait_s):
                    break
                continue
            event = self._event(packet)
            if event is not None:
                size += len(packet)
                events.append(event)
        return events

    def _receive(self, wait_s: float) -> bool:
        socket = self._connection._sock
        socket.settimeout(max(wait_s, 1e-6))
        try:
            data = socket.recv(1 << 18)
        except (TimeoutError, BlockingIOError):
            if time.monotonic() - self._heard_at > 3 * self._heartbeat_s + 30:
                raise SourceError("no data from the server for too long; the connection is closed") from None
            return False
        except OSError as error:
            raise SourceError(f"the connection for the binary log is lost: {error}") from error
        if not data:
            raise SourceError("the server has closed the connection for the binary log")
        self._heard_at = time.monotonic()
        self._packets.add(data)
        return True

    def _event(self, packet: bytes) -> LogEvent | None:
        """The event of a packet; None if it is only about the stream itself."""
        if packet[0] != _OK:
            self._reject(packet)
        time_s, kind, _, size, end, flags = _HEADER.unpack_from(packet, 1)
        if kind == ROTATE:
            position = rotated_to(packet[_CONTENT_AT : len(packet) - self._sum])
            self._file, self._offset = position.file, position.offset
            return None
        if kind == FORMAT:
            self._sum = _SUM if packet[-_SUM - 1] == _HAS_SUMS else 0
            self.file_times[self._file] = time_s
        if kind == HEARTBEAT or end == 0 or flags & _ARTIFICIAL:
            return None
        # Numbers of four bytes, in a file that one transaction may have made longer than they count.
        offset = self._offset + (end - self._offset) % (1 << 32)
        self._offset = offset
        content = packet[_CONTENT_AT : len(packet) - self._sum]
        return LogEvent(kind, time_s, self._file, offset - size, offset, content)

    def _reject(self, packet: bytes) -> None:
        if packet[0] == _END:
            raise SourceError("the server has ended the stream of its binary log")
        raise SourceError(_advice(*error_of(packet), self._start))

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection._force_close()


def _advice(code: int, message: str, start: LogPosition) -> str:
    lowered = message.lower()
    if "same server" in lowered:
        return f"another reader of the log has the same number: give each job a 'server-id' of its own ({message})"
    if code == _LOG_GONE:
        return (
            f"the server does not hold its binary log from {start} on any more, so changes are lost: start the job "
            f"anew without its state, so that the tables are read again, and have the server keep its log longer "
            f"({message})"
        )
    if "denied" in lowered:
        return f"the binary log may not be read: GRANT REPLICATION SLAVE ON *.* TO the user ({message})"
    return f"the binary log cannot be read: {message} ({code})"


def time_of_file(settings: MySqlCdcSettings, file: LogPosition) -> int:
    """When a file of the log was begun, in seconds: its first event says so."""
    with contextlib.closing(LogStream(settings, file)) as stream:
        end = time.monotonic() + _PATIENCE_S
        while file.file not in stream.file_times and time.monotonic() < end:
            stream.take(_PATIENCE_S / 100)
        return stream.file_times[file.file]


def gtids_before_file(settings: MySqlCdcSettings, file: LogPosition) -> GtidSet:
    """The transactions that stand before a file of the log: an event at its head says so."""
    with contextlib.closing(LogStream(settings, file)) as stream:
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            for event in stream.take(_PATIENCE_S / 100):
                if event.kind in HEADS:
                    return gtids_before(event)
        raise SourceError(f"the file {file.file} of the binary log does not say which GTIDs stand before it")
