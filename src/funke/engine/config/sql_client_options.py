"""The options of the shell `funke sql`: where INSERTs run, how results are shown, and where."""

from __future__ import annotations

from funke.engine.config.config_option import boolean_option, integer_option, string_option

TARGET = string_option(
    "execution.target",
    "local",
    "Where `funke sql` runs an INSERT: in its own process (local) or in the service (remote). Spark's place is "
    "spark.master.",
)
RESULT_MODE = string_option(
    "sql-client.execution.result-mode",
    "tableau",
    "Of a terminal: tableau and changelog show changes as they come, table shows the rows that they leave.",
)
MOST_ROWS = integer_option(
    "sql-client.execution.max-table-result.rows", 1_000_000, "How many rows the mode table keeps."
)
WIDEST_COLUMN = integer_option(
    "sql-client.display.max-column-width", None, "Characters of the widest column; when not set, what the screen has."
)
SHOWS_TIME = boolean_option(
    "sql-client.display.print-time-cost", True, "Whether a terminal shows how long a query took."
)
FORMAT = string_option("funke.sql.format", "table", "How rows are written: table, vertical, csv, json, markdown.")
OUTPUT_FILE = string_option("funke.sql.output-file", None, "A file to which results are added, instead of the screen.")
HAS_PAGER = boolean_option(
    "funke.sql.pager", True, "Whether complete results that are longer than the screen are paged."
)
