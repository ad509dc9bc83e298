"""Begins a transaction that sees the tables as they are at a position of the log, and says which."""

from __future__ import annotations

import contextlib
from typing import Any

from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.preparation import end_of_log, rows
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlTable
from funke.engine.errors import SourceError

__all__ = ["begin_consistent_read"]

_BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
_POSITION = "SHOW STATUS LIKE 'binlog_snapshot_%'"
_WAIT_S = 5
_LOCK_TIMEOUT, _DENIED = 1205, (1044, 1142, 1227)


def begin_consistent_read(settings: MySqlCdcSettings, connection: Any, table: MySqlTable) -> LogPosition:
    """MariaDB knows the position of a snapshot, as Percona's server does; of others a lock is needed for a moment."""
    rows(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    rows(connection, _BEGIN)
    status = {name.lower(): value for name, value in rows(connection, _POSITION)}
    if status.get("binlog_snapshot_file"):
        return LogPosition.of(status["binlog_snapshot_file"], status["binlog_snapshot_position"])
    connection.rollback()
    return begin_locked_read(settings, connection, table)


def begin_locked_read(settings: MySqlCdcSettings, connection: Any, table: MySqlTable) -> LogPosition:
    """While the table is locked, no transaction that has changed it is on its way to be committed.

    A position alone would not do: the log holds transactions for a moment before others see them.
    """
    with contextlib.closing(settings.connect()) as owner:
        try:
            rows(owner, f"SET SESSION lock_wait_timeout = {_WAIT_S}")
            rows(owner, f"LOCK TABLES {quote(table.path)} READ")
        except settings.database.error as error:
            raise SourceError(_error_text(error, table)) from error
        rows(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        rows(connection, _BEGIN)
        position = end_of_log(connection)
        rows(owner, "UNLOCK TABLES")
    return position


def _error_text(error: Exception, table: MySqlTable) -> str:
    code = error.args[0] if error.args else None
    if code == _LOCK_TIMEOUT:
        return (
            f"the table {table.path} could not be locked for the moment that its rows need to meet the log: a "
            f"transaction that changes it has been open for more than {_WAIT_S} s"
        )
    if code in _DENIED:
        return (
            f"the table {table.path} must be locked for a moment so that its rows meet the log: GRANT LOCK TABLES ON "
            f"{quote(table.database)}.* ({error})"
        )
    return f"the table {table.path} cannot be locked: {type(error).__name__}: {error}"
