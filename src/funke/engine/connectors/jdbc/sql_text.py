"""SQL as text: JDBC's placeholders in the form a Python driver wants, and statements made of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from funke.engine.errors import ConfigurationError

__all__ = [
    "Quote",
    "count_placeholders",
    "delete_statement",
    "insert_statement",
    "note_statement",
    "quote",
    "quote_as_unquoted",
    "to_format_style",
    "upsert_statement",
]

# A name as SQL writes it.
Quote = Callable[[str], str]

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
        raise ConfigurationError(f"{name!r} is not the name of a table or column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


_QUOTED_OR_PLAIN = re.compile(r'"(?:[^"]|"")+"|[^".]+')
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_SUBQUERY = re.compile(r"\s*\(\s*select\b", re.IGNORECASE)


def quote_as_unquoted(name: str, spelled: Collection[str] = ()) -> str:
    """A name with the meaning that it has without quotes, as Flink's dialect of PostgreSQL writes names.

    Capitals count only in names that are in quotes already, and in those that the database knows as they are spelled.

    >>> quote_as_unquoted('Public."Trips"'), quote_as_unquoted("PULocationID"), quote_as_unquoted("Fare", {"Fare"})
    ('"public"."Trips"', '"pulocationid"', '"Fare"')
    """
    if _SUBQUERY.match(name):
        return name
    parts = _QUOTED_OR_PLAIN.findall(name)
    if ".".join(parts) != name:
        raise ConfigurationError(f"{name!r} is not the name of a table or column")
    return ".".join(_part_as_unquoted(part, spelled) for part in parts)


def _part_as_unquoted(part: str, spelled: Collection[str]) -> str:
    if part.startswith('"'):
        return part
    is_folded = part not in spelled and _IDENTIFIER.fullmatch(part)
    return f'"{part.lower() if is_folded else part}"'


def insert_statement(table: str, columns: Sequence[str], quote: Quote = quote) -> str:
    """The statement that inserts a row.

    >>> insert_statement("t", ["id", "n"])
    'INSERT INTO "t" ("id", "n") VALUES (?, ?)'
    """
    names, values = ", ".join(map(quote, columns)), ", ".join("?" for _ in columns)
    return f"INSERT INTO {quote(table)} ({names}) VALUES ({values})"


def upsert_statement(table: str, columns: Sequence[str], keys: Sequence[str], quote: Quote = quote) -> str:
    """The statement that inserts a row, or replaces the one with the same key.

    >>> upsert_statement("t", ["id", "n"], ["id"])
    'INSERT INTO "t" ("id", "n") VALUES (?, ?) ON CONFLICT ("id") DO UPDATE SET "n" = excluded."n"'
    """
    changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in columns if name not in keys)
    action = f"UPDATE SET {changes}" if changes else "NOTHING"
    conflict = ", ".join(map(quote, keys))
    return f"{insert_statement(table, columns, quote)} ON CONFLICT ({conflict}) DO {action}"


def delete_statement(table: str, keys: Sequence[str], quote: Quote = quote) -> str:
    """The statement that deletes the row with a key."""
    return f"DELETE FROM {quote(table)} WHERE " + " AND ".join(f"{quote(key)} = ?" for key in keys)


def note_statement(table: str, quote: Quote = quote) -> str:
    """The statement that notes the number of a writer, unless a higher one is noted."""
    return (
        f"INSERT INTO {quote(table)} AS known (sink, writer, number) VALUES (?, ?, ?) "
        "ON CONFLICT (sink, writer) DO UPDATE SET number = excluded.number WHERE known.number < excluded.number"
    )
