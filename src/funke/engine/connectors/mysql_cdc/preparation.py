"""What is asked of the server before anything is read: its log, tables, parts of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from funke.engine.connectors.change_capture.parts import Chunk
from funke.engine.connectors.jdbc.sql_text import quote, to_format_style
from funke.engine.connectors.mysql_cdc.fitted_columns import column_fitter
from funke.engine.connectors.mysql_cdc.gtids import GtidSet
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.part_columns import INTEGERS
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlColumn, MySqlTable
from funke.engine.errors import SourceError

__all__ = [
    "check_log",
    "check_position",
    "chunks_of",
    "columns_of",
    "end_of_log",
    "find_tables",
    "log_files",
    "made_gtids",
    "rows",
]

_TABLES = """
    SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'
    AND TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, NUMERIC_PRECISION, NUMERIC_SCALE,
    DATETIME_PRECISION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
    ORDER BY ORDINAL_POSITION
"""
_KEY = """
    SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
    AND CONSTRAINT_NAME = 'PRIMARY' ORDER BY ORDINAL_POSITION
"""
_MEMBER = re.compile(r"'((?:[^']|'')*)'")
_MOST_SPREAD = 1000
_SYNTAX_ERROR, _DENIED = 1064, 1227


def rows(connection: Any, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """The rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())


def check_log(connection: Any) -> str:
    """Rejects a server whose log does not hold what is needed; returns what tells it from others."""
    required = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL"}
    variables = {name.lower(): value for name, value in rows(connection, "SHOW GLOBAL VARIABLES LIKE '%bin%log%'")}
    variables |= {name.lower(): value for name, value in rows(connection, "SHOW GLOBAL VARIABLES LIKE 'log_bin'")}
    if variables.get("log_bin", "OFF") != "ON":
        raise SourceError("the server has no binary log: start it with log_bin")
    for name, value in required.items():
        if variables.get(name, value).upper() != value:
            raise SourceError(f"the binary log needs {name} = {value}; the server has {name} = {variables[name]}")
    identity = rows(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_id')")
    return ":".join(value for _, value in sorted(identity, key=lambda each: str(each[0]), reverse=True)[:1])


def end_of_log(connection: Any) -> LogPosition:
    """The end of the log: no transaction stands across it."""
    try:
        try:
            status = rows(connection, "SHOW MASTER STATUS")
        except Exception as error:
            if error.args[:1] != (_SYNTAX_ERROR,):
                raise
            status = rows(connection, "SHOW BINARY LOG STATUS")
    except Exception as error:
        if error.args[:1] != (_DENIED,):
            raise
        raise SourceError(
            f"not allowed to read the state of the log: GRANT REPLICATION CLIENT ON *.* ({error})"
        ) from error
    if not status:
        raise SourceError("the server has no binary log: start it with log_bin")
    return LogPosition.of(status[0][0], status[0][1])


def log_files(connection: Any) -> list[LogPosition]:
    """The ends of the files that the server still has, the oldest first."""
    return [LogPosition.of(row[0], row[1]) for row in rows(connection, "SHOW BINARY LOGS")]


def check_position(connection: Any, position: LogPosition) -> None:
    """Refuses to go on from where the log has been thrown away."""
    ends = {each.file: each.offset for each in log_files(connection)}
    if ends.get(position.file, -1) < position.offset:
        held = f"it holds {min(ends)} to {max(ends)}" if ends else "it holds none"
        raise SourceError(
            f"the server's binary log does not hold {position} any more, where the job stands ({held}). Changes since "
            "then are lost: start the job anew without its state, so that the tables are read again, and have the "
            "server keep its log longer (binlog_expire_logs_seconds, expire_logs_days)"
        )


def made_gtids(connection: Any) -> GtidSet:
    """The transactions of the server's log, and of those that it had before."""
    query = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('gtid_binlog_pos', 'gtid_executed')"
    return GtidSet.from_text(",".join(value for _, value in rows(connection, query)))


def find_tables(connection: Any, settings: MySqlCdcSettings) -> list[MySqlTable]:
    """The tables that match; rejects those that lack what is needed."""
    databases, names = re.compile(settings.schema_pattern), re.compile(settings.table_pattern)
    tables = []
    for database, name, engine in rows(connection, _TABLES):
        # As in Flink, a pattern may be for the name alone or for database and name.
        if databases.fullmatch(database) and (names.fullmatch(name) or names.fullmatch(f"{database}.{name}")):
            tables.append(_table(connection, settings, database, name))
            if engine != "InnoDB" and settings.start_mode in ("initial", "snapshot"):
                raise SourceError(
                    f"the rows of {tables[-1].path} cannot be read consistently, because its engine is "
                    f"{engine}: ALTER TABLE {database}.{name} ENGINE = InnoDB"
                )
    if not tables:
        raise SourceError(
            f"no table of the server matches '{settings.schema_pattern}'.'{settings.table_pattern}' that the user "
            "may read; views are not read"
        )
    return tables


def _table(connection: Any, settings: MySqlCdcSettings, database: str, name: str) -> MySqlTable:
    key = tuple(row[0] for row in rows(connection, _KEY, (database, name)))
    described = rows(connection, _COLUMNS, (database, name))
    table = MySqlTable(database, name, key, tuple(_column(*row) for row in described))
    for field in settings.fields:
        column = table.column(field.name)
        if column is None:
            has = ", ".join(each.name for each in table.columns)
            raise SourceError(f"the table {table.path} has no column {field.name}; it has {has}")
        column_fitter(column, field.data_type, settings.zone)
    chunk = _chunk_column(settings, key)
    if chunk is None:
        return table
    collations = {row[0]: row[4] for row in described}
    column = table.column(chunk)
    assert column is not None
    if column.kind in (*INTEGERS, "year"):
        return MySqlTable(database, name, key, table.columns, chunk)
    value = _chunk_value(column, collations[chunk])
    return table if value is None else MySqlTable(database, name, key, table.columns, chunk, value)


def columns_of(connection: Any, database: str, name: str) -> tuple[MySqlColumn, ...]:
    """The columns as they are now."""
    return tuple(_column(*row) for row in rows(connection, _COLUMNS, (database, name)))


def _column(
    name: str, kind: str, whole: str, charset: str | None, _: Any, precision: Any, scale: Any, digits: Any
) -> MySqlColumn:
    size = {"decimal": scale, "bit": precision}.get(kind, digits)
    kind = f"compressed {kind}" if "COMPRESSED" in whole else kind
    members = tuple(each.replace("''", "'") for each in _MEMBER.findall(whole)) if kind in ("enum", "set") else ()
    return MySqlColumn(name, kind, "unsigned" in whole.lower() and not members, charset, int(size or 0), members)


def _chunk_column(settings: MySqlCdcSettings, key: Sequence[str]) -> str | None:
    column = settings.chunk_column
    if column is not None and column not in key:
        raise SourceError(f"the chunk key column '{column}' must be one of the primary key's: {', '.join(key)}")
    # The first one has an index.
    return column or (key[0] if key else None)


def _chunk_value(column: MySqlColumn, collation: str | None) -> str | None:
    """A value of a column in SQL that compares as the column does; None if it cannot be cut by it."""
    if column.kind in ("char", "varchar") and column.charset is not None:
        return f"CONVERT(? USING {column.charset}) COLLATE {collation}"
    kinds = {
        "binary": "UNHEX(?)",
        "varbinary": "UNHEX(?)",
        "decimal": "CAST(? AS DECIMAL(65, 30))",
        "date": "CAST(? AS DATE)",
        "datetime": "CAST(? AS DATETIME(6))",
        "timestamp": "CAST(? AS DATETIME(6))",
    }
    return kinds.get(column.kind)


def chunks_of(connection: Any, table: MySqlTable, rows_wanted: int) -> list[Chunk]:
    """Cuts a table into parts of about so many rows, by its key; without one it is one part."""
    if table.chunk_column is None:
        return [Chunk(table)]
    edges = [None, *_bounds_of(connection, table, table.chunk_column, rows_wanted), None]
    return [Chunk(table, start, end, number) for number, (start, end) in enumerate(pairwise(edges))]


def _bounds_of(connection: Any, table: MySqlTable, chunk_column: str, rows_wanted: int) -> Sequence[int | str]:
    if table.chunk_value is not None:
        return _bounds(connection, table, chunk_column, rows_wanted)
    column, name = quote(chunk_column), quote(table.path)
    ((low, high),) = rows(connection, f"SELECT MIN({column}), MAX({column}) FROM {name}")
    if low is None:
        return []
    low, high = int(low), int(high)
    query = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
    guess = int(rows(connection, query, (table.database, table.name))[0][0] or 0)
    if guess > 0 and (high - low) / guess <= _MOST_SPREAD:
        step = max(1, round((high - low + 1) * rows_wanted / guess))
        return range(low + step, high + 1, step)
    return [int(each) for each in _bounds(connection, table, chunk_column, rows_wanted)]


def _bounds(connection: Any, table: MySqlTable, chunk_column: str, rows_wanted: int) -> list[str]:
    """Steps through the index, for keys whose distribution is unknown."""
    column, name, value = quote(chunk_column), quote(table.path), table.chunk_value or "?"
    shown_column = f"HEX({column})" if value == "UNHEX(?)" else column
    bounds: list[str] = []
    values: tuple[Any, ...] = ()
    is_same, condition, offset = "0", "", rows_wanted
    while True:
        query = f"SELECT {shown_column}, {is_same} FROM {name} {condition} ORDER BY {column} LIMIT 1 OFFSET {offset}"
        low = rows(connection, to_format_style(query), values)
        if not low:
            return bounds
        if int(low[0][1]):
            # More rows than a part should have: the next one begins with the next value.
            condition, offset = f"WHERE {column} > {value}", 0
            continue
        bounds.append(low[0][0])
        is_same, condition = f"{column} = {value}", f"WHERE {column} >= {value}"
        values, offset = (low[0][0], low[0][0]), rows_wanted
