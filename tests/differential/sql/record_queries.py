"""Record what the reference gives for random queries over random tables, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_queries.py

There is a golden file for every seed. Its first line has the tables. Each other line is a query with its family, the
types of its columns, and its changes; or with `x`: "refused" if it has no meaning, "fails" if it raises.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from random_queries import COLUMNS, SEEDS, TABLES, random_queries, random_table
from recorded_form import plain, write_lines
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment, types_of

NUMBER = 420
WATERMARK = ", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
SIGNS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    for seed, first_table in SEEDS.items():
        record(seed, {name: random_table(number) for number, name in enumerate(TABLES, first_table)})
    return 0


def record(seed: int, tables: dict[str, list[dict[str, Any]]]) -> None:
    golden = f"sql_queries_{seed}.jsonl.gz"
    entries: list[dict[str, Any]] = [{"tables": tables}]
    with tempfile.TemporaryDirectory() as folder:
        environments = {}
        for mode in ("streaming", "batch"):
            environments[mode] = table_environment(mode)
            for name, rows in tables.items():
                create_file_table(environments[mode], name, COLUMNS, rows, Path(folder), WATERMARK)
        for number, entry in enumerate(random_queries(seed, NUMBER)):
            answered(environments["batch" if entry["family"] == "batch" else "streaming"], entry)
            entries.append(entry)
            print(number, entry.get("x", "fine"), entry.get("why", "")[:150], file=sys.stderr, flush=True)
            if number % 20 == 19:
                write_lines(golden, entries)
    write_lines(golden, [each for each in entries if each.get("x") != "unreadable"])


def answered(environment: Any, entry: dict[str, Any]) -> None:
    """Put what the reference gives into the entry."""
    try:
        table = environment.sql_query(entry["query"])
        entry["types"] = [each.replace(" *ROWTIME*", "") for each in types_of(table)]
    except Exception as error:
        entry.update(x="refused", why=rejection_of(error)[-300:])
        return
    try:
        with table.execute().collect() as results:
            entry["changes"] = [[SIGNS[row.get_row_kind().name], [plain(each) for each in row]] for row in results]
    except Exception as error:
        is_failure = "java" in str(error) and "PythonBridgeUtils" not in str(error)
        entry.update(x="fails" if is_failure else "unreadable", why=rejection_of(error)[-300:])


if __name__ == "__main__":
    sys.exit(main())
