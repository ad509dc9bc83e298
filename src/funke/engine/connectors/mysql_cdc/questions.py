"""What the binary log does not say and the server is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funke.engine.connectors.change_capture.questions import ServerQuestions
from funke.engine.connectors.jdbc.sql_text import to_format_style
from funke.engine.connectors.mysql_cdc.preparation import columns_of, rows
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlColumn, MySqlTable

__all__ = ["MySqlQuestions"]

_KEYS_AT_ONCE = 500


class MySqlQuestions(ServerQuestions[MySqlCdcSettings]):
    """Columns as they are now, and the order of keys."""

    def columns(self, table: MySqlTable) -> tuple[MySqlColumn, ...]:
        return columns_of(self._connected(), table.database, table.name)

    def names_are_logged(self) -> bool:
        variables = rows(self._connected(), "SHOW GLOBAL VARIABLES LIKE 'binlog_row_metadata'")
        return bool(variables) and variables[0][1].upper() == "FULL"

    def chunks(self, table: MySqlTable, lows: Sequence[Any], keys: Sequence[str | None]) -> Sequence[int]:
        """The server alone knows the order of texts in its languages."""
        distinct = [each for each in dict.fromkeys(keys) if each is not None]
        numbers: dict[str | None, int] = {None: 0}
        bounds = " UNION ALL ".join(f"SELECT {table.chunk_value} AS low" for _ in lows)
        for at in range(0, len(distinct), _KEYS_AT_ONCE):
            some = distinct[at : at + _KEYS_AT_ONCE]
            asked = " UNION ALL ".join(f"SELECT {n} AS n, {table.chunk_value} AS v" for n in range(len(some)))
            query = (
                f"SELECT k.n, COUNT(l.low) FROM ({asked}) AS k LEFT JOIN ({bounds}) AS l ON l.low <= k.v GROUP BY k.n"
            )
            counts = rows(self._connected(), to_format_style(query), (*some, *lows))
            numbers |= {some[int(n)]: int(count) for n, count in counts}
        return [numbers[each] for each in keys]
