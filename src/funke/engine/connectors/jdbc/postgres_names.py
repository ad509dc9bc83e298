"""Which names with capitals a PostgreSQL server knows as they are spelled.

Flink writes names without quotes, so that PostgreSQL reads them in small letters. Tables and columns that were created
in quotes are found too: where there is no name in small letters, and one that is spelled so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from funke.engine.connectors.jdbc.database import PostgresDatabase

__all__ = ["with_spelled_names"]

# Tables whose names differ in capitals only, those in the schemas of the search path first.
_TABLES = """
    SELECT n.nspname, c.relname, array_agg(a.attname::text) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND lower(c.relname) = lower(%s)
    AND CASE WHEN %s = '' THEN n.nspname = ANY (current_schemas(false)) ELSE lower(n.nspname) = lower(%s) END
    GROUP BY n.nspname, c.relname
"""


def with_spelled_names(database: PostgresDatabase, table: str, columns: Sequence[str]) -> PostgresDatabase:
    """The database with names as Flink writes them, knowing those with capitals; out of reach, it knows none."""
    schema, _, name = table.rpartition(".")
    rows: list[Any] = []
    if any(each != each.lower() for each in (schema, name, *columns)):
        with suppress(database.error), closing(database.connect()) as connection:
            rows = connection.execute(_TABLES, (name.strip('"'), schema, schema.strip('"'))).fetchall()
    tables = {(each_schema, each_name): each_columns for each_schema, each_name, each_columns in rows}
    return replace(database, spelled=frozenset(_spelled_names(tables, schema, name, columns)))


def _spelled_names(
    tables: dict[tuple[str, str], list[str]], schema: str, name: str, columns: Sequence[str]
) -> Iterable[str]:
    schemas, names = [each for each, _ in tables], [each for _, each in tables]
    yield from _spelled([schema], schemas)
    yield from _spelled([name], names)
    for there in tables.values():
        yield from _spelled(columns, there)


def _spelled(names: Iterable[str], there: Collection[str]) -> Iterable[str]:
    return (each for each in names if each in there and each.lower() not in there)
