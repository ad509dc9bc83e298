"""Record what the reference gives for random patterns of rows.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_matches.py

The first line of the golden file has the table; each other line is a query with its rows in the order in which those of
a key came, or with `x`: "fails" if the reference refuses it. Queries share jobs, some of them each.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from random_matches import COLUMNS, random_matches, rows
from recorded_form import plain, write_lines
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment

PER_JOB = 10
WATERMARK = ", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    table = rows()
    entries: list[dict[str, Any]] = [{"query": each} for each in random_matches()]
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment("streaming")
        create_file_table(environment, "t", COLUMNS, table, Path(folder), WATERMARK)
        for first in range(0, len(entries), PER_JOB):
            answered(environment, entries[first : first + PER_JOB])
            print(first, file=sys.stderr, flush=True)
            write_lines("sql_matches.jsonl.gz", [{"table": table}, *entries[: first + PER_JOB]])
    return 0


def answered(environment: Any, entries: list[dict[str, Any]]) -> None:
    """Put what the reference gives into the entries; of those that fail together each is asked alone."""
    union = " UNION ALL ".join(f"SELECT {n} AS q, x.* FROM ({each['query']}) AS x" for n, each in enumerate(entries))
    for each in entries:
        each["rows"] = []
    try:
        with environment.sql_query(union).execute().collect() as results:
            for row in results:
                number, *values = row
                entries[number]["rows"].append([plain(each) for each in values])
    except Exception as error:
        if len(entries) == 1:
            del entries[0]["rows"]
            entries[0].update(x="fails", why=rejection_of(error)[-300:])
            return
        middle = len(entries) // 2
        answered(environment, entries[:middle])
        answered(environment, entries[middle:])


if __name__ == "__main__":
    sys.exit(main())
