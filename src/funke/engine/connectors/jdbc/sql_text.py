"""SQL as text: JDBC's placeholders in the form a Python driver wants, and statements made of names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from funke.engine.errors import ConfigurationError

__all__ = [
    "count_placeholders",
    "delete_statement",
    "insert_statement",
    "note_statement",
    "quote",
    "to_format_style",
    "upsert_statement",
]

# What a question mark may stand in without being a placeholder; then JDBC's escape `??`; then a placeholder.
_TOKENS = re.compile(
    r"""
      (?P<kept>'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | (?P<dollar>\$\w*\$).*?(?P=dollar))
    | (?P<escaped>\?\?)
    | (?P<placeholder>\?)
    | (?P<percent>%)
    """,
    re.VERBOSE | re.DOTALL,
)


def to_format_style(sql: str) -> str:
    """The statement for drivers whose placeholder is `%s`.

    >>> to_format_style("insert into t values (?, '50% ?') -- really?")
    "insert into t values (%s, '50%% ?') -- really?"
    """

    def replace(match: re.Match[str]) -> str:
        if match["placeholder"]:
            return "%s"
        if match["escaped"]:
            return "?"
        return match[0].replace("%", "%%")

    return _TOKENS.sub(replace, sql)


def count_placeholders(sql: str) -> int:
    """How many values the statement takes.

    >>> count_placeholders("update t set a = ? where b = ? and c = '?'")
    2
    """
    return sum(match["placeholder"] is not None for match in _TOKENS.finditer(sql))


def quote(name: str) -> str:
    """A name as SQL writes it; a dot separates a schema from a table.

    >>> quote("public.my table")
    '"public"."my table"'
    """
    parts = name.split(".")
    if not all(parts):
        raise ConfigurationError(f"{name!r} is no name of a table or column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def insert_statement(table: str, columns: Sequence[str]) -> str:
    """The statement that inserts a row.

    >>> insert_statement("t", ["id", "n"])
    'INSERT INTO "t" ("id", "n") VALUES (?, ?)'
    """
    names, values = ", ".join(map(quote, columns)), ", ".join("?" for _ in columns)
    return f"INSERT INTO {quote(table)} ({names}) VALUES ({values})"


def upsert_statement(table: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """The statement that inserts a row, or replaces the one with the same key.

    >>> upsert_statement("t", ["id", "n"], ["id"])
    'INSERT INTO "t" ("id", "n") VALUES (?, ?) ON CONFLICT ("id") DO UPDATE SET "n" = excluded."n"'
    """
    changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in columns if name not in keys)
    action = f"UPDATE SET {changes}" if changes else "NOTHING"
    conflict = ", ".join(map(quote, keys))
    return f"{insert_statement(table, columns)} ON CONFLICT ({conflict}) DO {action}"


def delete_statement(table: str, keys: Sequence[str]) -> str:
    """The statement that deletes the row with a key."""
    return f"DELETE FROM {quote(table)} WHERE " + " AND ".join(f"{quote(key)} = ?" for key in keys)


def note_statement(table: str) -> str:
    """The statement that notes the number of a writer, unless a higher one is noted."""
    return (
        f"INSERT INTO {quote(table)} AS known (sink, writer, number) VALUES (?, ?, ?) "
        "ON CONFLICT (sink, writer) DO UPDATE SET number = excluded.number WHERE known.number < excluded.number"
    )
