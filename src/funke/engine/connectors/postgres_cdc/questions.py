"""What the log does not say and the database is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.connectors.change_capture.questions import ServerQuestions
from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings, SourceTable

__all__ = ["PostgresQuestions"]


class PostgresQuestions(ServerQuestions[PostgresCdcSettings]):
    """Values that an update has left alone, and the order of keys."""

    def values(self, table: SourceTable, columns: Sequence[str], key: Sequence[str | None]) -> Sequence[Any] | None:
        """Texts of a row's columns as they are now; None if there is no such row any more."""
        cells = ", ".join(f"{quote(each)}::text" for each in columns)
        condition = " AND ".join(f"{quote(each)}::text = %s" for each in table.key)
        query = f"SELECT {cells} FROM {quote(table.path)} WHERE {condition}"
        row: Sequence[Any] | None = self._connected().execute(query, list(key)).fetchone()
        return row

    def chunks(self, table: SourceTable, lows: Sequence[Any], keys: Sequence[str | None]) -> Sequence[int | None]:
        """In which part of a table rows are: the database alone knows the order of texts in its languages."""
        kind, _, order = str(table.chunk_type).partition(" COLLATE ")
        key = f"key::{kind}" + (order and f" COLLATE {order}")
        query = (
            f"SELECT width_bucket({key}, %s::text[]::{kind}[]) FROM unnest(%s::text[]) WITH ORDINALITY AS k (key, n)"
        )
        rows = self._connected().execute(f"{query} ORDER BY n", (list(lows), list(keys))).fetchall()
        return [number for (number,) in rows]
