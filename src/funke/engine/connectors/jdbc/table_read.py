"""What is read of a table of a database: some columns of the rows that fulfil conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.sql_text import Quote
    from funke.engine.types.logical.row_type import RowField

__all__ = ["Condition", "TableRead"]


@dataclass(frozen=True)
class Condition:
    """A part of WHERE: a text with a question mark for each value."""

    text: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class TableRead:
    """A table (a dot separates its schema), the columns with the types that they are wanted in, and conditions."""

    table: str
    fields: tuple[RowField, ...]
    conditions: tuple[Condition, ...] = ()
    limit: int | None = None

    def select(self, cells: Sequence[str], quote: Quote) -> Condition:
        """The query that gives these cells for every row."""
        text = f"SELECT {', '.join(cells)} FROM {quote(self.table)}"
        if self.conditions:
            text += " WHERE " + " AND ".join(f"({each.text})" for each in self.conditions)
        if self.limit is not None:
            text += f" LIMIT {self.limit}"
        return Condition(text, tuple(value for each in self.conditions for value in each.values))
