"""What is asked of the server before anything is read: tables, publication, slot, parts of tables."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from funke.engine.connectors.change_capture.parts import Chunk
from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.postgres_cdc import log_position
from funke.engine.connectors.postgres_cdc.replication import identifier, literal
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.visibility import Visibility
from funke.engine.errors import SourceError

__all__ = ["check_slot", "chunks_of", "find_tables", "insert_position", "prepare_publication", "prepare_slot"]

_TABLES = """
    SELECT n.nspname, c.relname, c.relreplident,
      ARRAY(SELECT a.attname::text FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)),
      ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attnum),
      ARRAY(SELECT format_type(a.atttypid, -1) || CASE WHEN k.oid IS NULL THEN ''
              ELSE ' COLLATE ' || quote_ident(m.nspname) || '.' || quote_ident(k.collname) END
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
            LEFT JOIN pg_collation k ON k.oid = a.attcollation LEFT JOIN pg_namespace m ON m.oid = k.collnamespace
            WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1, 2
"""
# Long enough for a commit that is written to be seen; a transaction that runs longer has not been committed.
_WAIT_FOR_OTHERS_S = 10.0
_MOST_SPREAD = 1000
_INTEGERS = ("smallint", "integer", "bigint")


def find_tables(connection: Any, settings: PostgresCdcSettings) -> list[SourceTable]:
    """The tables that match; rejects those that lack what is needed."""
    schemas, names = re.compile(settings.schema_pattern), re.compile(settings.table_pattern)
    tables = []
    for schema, name, identity, key, columns, types in connection.execute(_TABLES).fetchall():
        # As in Flink, a pattern may be for the name alone or for schema and name.
        if schemas.fullmatch(schema) and (names.fullmatch(name) or names.fullmatch(f"{schema}.{name}")):
            table = SourceTable(schema, name, tuple(key), *_chunk_column(settings, key, types))
            _check(settings, table, identity, columns)
            tables.append(table)
    if not tables:
        raise SourceError(
            f"no table of the database matches '{settings.schema_pattern}'.'{settings.table_pattern}'; "
            "views and partitioned tables are not read"
        )
    return tables


def _chunk_column(
    settings: PostgresCdcSettings, key: Sequence[str], types: Sequence[str]
) -> tuple[str | None, str | None]:
    column = settings.chunk_column
    if column is not None and column not in key:
        raise SourceError(f"the chunk key column '{column}' must be one of the primary key's: {', '.join(key)}")
    if not key:
        return None, None
    # The first one has an index.
    index = 0 if column is None else key.index(column)
    return key[index], None if types[index] in _INTEGERS else types[index]


def _check(settings: PostgresCdcSettings, table: SourceTable, identity: str | bytes, columns: Sequence[str]) -> None:
    missing = [each.name for each in settings.fields if each.name not in columns]
    if missing:
        raise SourceError(f"the table {table.path} has no column {', '.join(missing)}; it has {', '.join(columns)}")
    if settings.start_mode != "snapshot":
        _check_identity(settings, table, identity.decode() if isinstance(identity, bytes) else identity)


def _check_identity(settings: PostgresCdcSettings, table: SourceTable, kind: str) -> None:
    """What the log holds of rows before changes."""
    if settings.is_upsert:
        if kind == "n" or (kind == "d" and not table.key):
            raise SourceError(f"the table {table.path} has no key that identifies its rows: give it a primary key")
    elif kind != "f":
        raise SourceError(
            f"the log does not hold the rows of {table.path} as they were before changes. Please check the Postgres "
            f"table has been set REPLICA IDENTITY to FULL level (ALTER TABLE {quote(table.path)} REPLICA IDENTITY "
            "FULL), or set 'changelog-mode' = 'upsert'."
        )


def prepare_publication(connection: Any, settings: PostgresCdcSettings, tables: Sequence[SourceTable]) -> None:
    """Makes the publication if it is missing; one that lacks tables is an error."""
    name = settings.publication
    publication = connection.execute("SELECT puballtables FROM pg_publication WHERE pubname = %s", (name,)).fetchone()
    if publication is None:
        if not settings.creates_publication:
            raise SourceError(f"there is no publication '{name}', and creating one is switched off")
        listed = ", ".join(quote(each.path) for each in tables)
        statement = f"CREATE PUBLICATION {identifier(name)} FOR TABLE {listed}"
        _permitted(
            connection, statement, (), f"the user may not make a publication; have the tables' owner {statement}"
        )
        return
    rows = connection.execute("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (name,))
    published = {tuple(row) for row in rows.fetchall()}
    missing = [each.path for each in tables if (each.schema, each.name) not in published]
    if missing:
        listed = ", ".join(map(quote, missing))
        raise SourceError(
            f"the publication '{name}' does not hold {', '.join(missing)}: "
            f"ALTER PUBLICATION {identifier(name)} ADD TABLE {listed}"
        )


def prepare_slot(connection: Any, slot: str) -> int:
    """Makes the slot if it is missing; returns from where it can be read."""
    level = connection.execute("SHOW wal_level").fetchone()[0]
    if level != "logical":
        raise SourceError(f"logical decoding needs wal_level = logical; the server has wal_level = {level}")
    state = _slot(connection, slot)
    if state is not None:
        return _usable(slot, state)
    statement = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')"
    created = _permitted(connection, statement, (slot,), "the user may not replicate: ALTER ROLE … REPLICATION")
    position = log_position.from_text(created.fetchone()[0])
    _wait_for_others(connection)
    return position


def _permitted(connection: Any, statement: str, values: Sequence[str], advice: str) -> Any:
    from psycopg.errors import InsufficientPrivilege

    try:
        return connection.execute(statement, values or None)
    except InsufficientPrivilege as error:
        raise SourceError(f"{advice} ({error})") from error


def check_slot(connection: Any, slot: str, position: int) -> None:
    """Refuses to go on from a position that the slot does not hold any more."""
    state = _slot(connection, slot)
    detail = (
        f"Changes since {log_position.to_text(position)}, where the job stands, are lost: start it anew without its "
        "state, so that the tables are read again."
    )
    if state is None:
        raise SourceError(f"the replication slot '{slot}' is gone. {detail}")
    confirmed = _usable(slot, state, detail)
    if confirmed > position:
        raise SourceError(
            f"the replication slot '{slot}' has moved on to {log_position.to_text(confirmed)}: another reader uses it, "
            f"or a later checkpoint was completed. {detail}"
        )


def _slot(connection: Any, slot: str) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = connection.execute(
        "SELECT plugin, database = current_database(), confirmed_flush_lsn::text, wal_status FROM pg_replication_slots "
        "WHERE slot_name = %s",
        (slot,),
    ).fetchone()
    return row


def _usable(slot: str, state: tuple[Any, ...], detail: str = "") -> int:
    plugin, is_own, confirmed, status = state
    if plugin != "pgoutput" or not is_own:
        raise SourceError(f"the replication slot '{slot}' belongs to another database or plugin ({plugin})")
    if status == "lost" or confirmed is None:
        hint = detail or "Drop it with pg_drop_replication_slot, and a new one is made."
        raise SourceError(f"the server has thrown away what the replication slot '{slot}' needs. {hint}")
    return log_position.from_text(confirmed)


def _wait_for_others(connection: Any) -> None:
    """A commit may stand in the log before others see it: wait until transactions that run now are over."""
    query = "SELECT pg_current_snapshot()::text"
    now = Visibility.from_text(connection.execute(query).fetchone()[0])
    end = time.monotonic() + _WAIT_FOR_OTHERS_S
    while time.monotonic() < end:
        if Visibility.from_text(connection.execute(query).fetchone()[0]).first >= now.end:
            return
        time.sleep(0.02)


def insert_position(connection: Any) -> int:
    """The end of the log: no record stands across it."""
    text = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()[0]
    return log_position.record_boundary(log_position.from_text(text))


def chunks_of(connection: Any, table: SourceTable, rows: int) -> list[Chunk]:
    """Cuts a table into parts of about so many rows, by its key; without one it is one part."""
    if table.chunk_column is None:
        return [Chunk(table)]
    edges = [None, *_bounds_of(connection, table, table.chunk_column, rows), None]
    return [Chunk(table, start, end, number) for number, (start, end) in enumerate(pairwise(edges))]


def _bounds_of(connection: Any, table: SourceTable, chunk_column: str, rows: int) -> Sequence[int | str]:
    column, name = quote(chunk_column), quote(table.path)
    if table.chunk_type is not None:
        return _bounds(connection, name, column, rows, table.chunk_type)
    low, high = connection.execute(f"SELECT min({column}), max({column}) FROM {name}").fetchone()
    if low is None:
        return []
    guess = connection.execute(
        f"SELECT reltuples::bigint FROM pg_class WHERE oid = {literal(name)}::regclass"
    ).fetchone()[0]
    if guess > 0 and (high - low) / guess <= _MOST_SPREAD:
        step = max(1, round((high - low + 1) * rows / guess))
        return range(low + step, high + 1, step)
    return [int(each) for each in _bounds(connection, name, column, rows, "bigint")]


def _bounds(connection: Any, name: str, column: str, rows: int, kind: str) -> list[str]:
    """Steps through the index, for keys whose distribution is unknown."""
    bounds: list[str] = []
    condition, values, offset = "", None, rows
    while True:
        # By the column, not by the text that has its name.
        query = f"SELECT {column}::text FROM {name} AS t {condition} ORDER BY t.{column} OFFSET {offset} LIMIT 1"
        row = connection.execute(query, values).fetchone()
        if row is None:
            return bounds
        if bounds and row[0] == bounds[-1]:
            # More rows than a part should have: the next one begins with the next value.
            condition, offset = f"WHERE {column} > %s::{kind}", 0
            continue
        bounds.append(row[0])
        condition, values, offset = f"WHERE {column} >= %s::{kind}", (row[0],), rows
