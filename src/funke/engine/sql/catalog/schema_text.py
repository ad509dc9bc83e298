"""Schemas as text, in Flink's form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from funke.engine.sql.catalog.objects import SchemaDefinition
from funke.engine.sql.syntax.statements import ColumnDefinition
from funke.engine.sql.syntax.text_form import summary
from funke.engine.types.logical.sql_text import quoted, to_sql_text

__all__ = ["column_text", "key_text", "lines_text", "metadata_text", "schema_text"]


def schema_text(schema: SchemaDefinition) -> str:
    """Return a schema with one line for each part."""
    return lines_text(_lines(schema))


def lines_text(lines: Iterable[str]) -> str:
    """Return lines in parentheses, with commas between them."""
    return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"


def column_text(name: str, type_text: str, extras: str = "", comment: str | None = None) -> str:
    """Return a column with its type and the part behind it."""
    text = f"{quoted(name)} {type_text}" + (f" {extras}" if extras else "")
    return text if not comment else f"{text} COMMENT '{comment}'"


def metadata_text(key: str | None, is_virtual: bool) -> str:
    """Return the part of a metadata column behind its type."""
    return "METADATA" + ("" if key is None else f" FROM '{key}'") + (" VIRTUAL" if is_virtual else "")


def key_text(name: str, columns: Iterable[str]) -> str:
    return f"CONSTRAINT {quoted(name)} PRIMARY KEY ({', '.join(map(quoted, columns))}) NOT ENFORCED"


def _lines(schema: SchemaDefinition) -> Iterator[str]:
    strings = dict(schema.type_strings)
    yield from (_definition_text(each, strings.get(each.name)) for each in schema.columns)
    if schema.watermark is not None:
        column = ".".join(map(quoted, schema.watermark.column))
        yield f"WATERMARK FOR {column} AS {summary(schema.watermark.expression)}"
    if schema.primary_key:
        yield key_text(schema.primary_key_name or "_".join(("PK", *schema.primary_key)), schema.primary_key)


def _definition_text(column: ColumnDefinition, type_string: str | None) -> str:
    if column.type is None:
        text = f"{quoted(column.name)} AS {summary(column.expression) if column.expression else ''}"
        return text if not column.comment else f"{text} COMMENT '{column.comment}'"
    extras = metadata_text(column.metadata_key, column.is_virtual) if column.is_metadata else ""
    type_text = to_sql_text(column.type) if type_string is None else f"[{type_string}]"
    return column_text(column.name, type_text, extras, column.comment)
