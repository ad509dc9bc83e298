"""The meaning of columns and state, as strings that stay the same when a query is written in another way."""

from __future__ import annotations

from funke.engine.sql.meaning.column_strings import ColumnStrings, user_function_text
from funke.engine.sql.meaning.state_parts import (
    ACCUMULATORS,
    COLUMNS,
    LEFT_COLUMNS,
    VERSION_COLUMNS,
    accumulators,
    columns_of,
    input_facts,
    key_fact,
    rows_fact,
    window_fact,
)

__all__ = [
    "ACCUMULATORS",
    "COLUMNS",
    "LEFT_COLUMNS",
    "VERSION_COLUMNS",
    "ColumnStrings",
    "accumulators",
    "columns_of",
    "input_facts",
    "key_fact",
    "rows_fact",
    "user_function_text",
    "window_fact",
]
