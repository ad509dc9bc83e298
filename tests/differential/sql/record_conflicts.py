"""Record what the reference writes to tables whose primary key is not that of the query, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_conflicts.py

Writes the file beside the tests of the operators: the rows of the table t, and queries for tables with the changes that
these get, their plans, or the reason why they are refused.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from reference_session import create_file_table, rejection_of, run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_conflicts.json"
COLUMNS = {"k": "STRING", "v": "INT", "ts": "TIMESTAMP(3)"}
TIMES = ", WATERMARK FOR ts AS ts"
ROWS: list[tuple[Any, Any]] = [
    ("a", 1),
    ("b", 1),
    ("a", 2),
    ("c", 1),
    ("b", 2),
    ("a", 1),
    ("e", 3),
    ("a", 1),
    ("b", 0),
    ("c", 3),
    ("e", 1),
    ("d", 2),
    ("b", 2),
    ("c", 0),
    ("d", 5),
    ("a", 4),
]
_COUNTS = "SELECT COUNT(*) AS c, k FROM t GROUP BY k"
_NESTED = f"SELECT c, COUNT(*) AS n FROM ({_COUNTS}) GROUP BY c"
_TOP = "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t"
_FORCE = {"table.exec.sink.upsert-materialize": "FORCE"}
_NONE = {"table.exec.sink.upsert-materialize": "NONE"}
_FREE = {"table.exec.sink.require-on-conflict": "false"}
DEDUPLICATE, NOTHING = "ON CONFLICT DO DEDUPLICATE", "ON CONFLICT DO NOTHING"
# The columns of a table, its primary key, the query, what stands behind it, options.
CASES: list[tuple[str, str, str, str, dict[str, str]]] = [
    ("c BIGINT, k STRING", "c", _COUNTS, DEDUPLICATE, {}),
    ("c BIGINT, k STRING", "c", _COUNTS, "", _FREE),
    ("c BIGINT, k STRING", "c", _COUNTS, "", _FORCE),
    ("c BIGINT, k STRING", "c", _COUNTS, "", _NONE),
    ("c BIGINT, k STRING", "c", _COUNTS, DEDUPLICATE, _NONE),
    ("c BIGINT, k STRING", "c, k", _COUNTS, "", {}),
    ("c BIGINT, k STRING", "c, k", _COUNTS, DEDUPLICATE, {}),
    # Several keys by which the query tells its rows apart.
    ("c BIGINT, k STRING, l STRING", "c", "SELECT c, k, k AS l FROM (" + _COUNTS + ")", DEDUPLICATE, {}),
    ("c BIGINT, k STRING, l STRING", "l", "SELECT c, k, k AS l FROM (" + _COUNTS + ")", "", {}),
    ("v INT, k STRING, n BIGINT", "n", f"SELECT v, k, n FROM ({_TOP}) WHERE n <= 2", DEDUPLICATE, {}),
    ("v INT, k STRING, n BIGINT", "k, n", f"SELECT v, k, n FROM ({_TOP}) WHERE n <= 2", "", {}),
    ("v INT, k STRING", "k", f"SELECT v, k FROM ({_TOP}) WHERE n <= 2", DEDUPLICATE, {}),
    ("v INT, k STRING", "v", f"SELECT v, k FROM ({_TOP}) WHERE n <= 2", DEDUPLICATE, {}),
    ("v INT, k STRING", "v", f"SELECT v, k FROM ({_TOP}) WHERE n = 1", DEDUPLICATE, {}),
    # Rows that go, and none by which rows are told apart.
    ("n BIGINT, c BIGINT", "n", f"SELECT n, c FROM ({_NESTED})", DEDUPLICATE, {}),
    ("n BIGINT, c BIGINT", "c", f"SELECT n, c FROM ({_NESTED})", "", {}),
    ("n BIGINT", "n", f"SELECT n FROM ({_NESTED})", DEDUPLICATE, {}),
    ("v INT", "v", "SELECT v FROM (SELECT k, MAX(v) AS v FROM t GROUP BY k)", DEDUPLICATE, {}),
    ("c BIGINT, u STRING", "u", "SELECT COUNT(*), UPPER(k) FROM t GROUP BY k", DEDUPLICATE, {}),
    ("c BIGINT, k STRING", "c", f"{_COUNTS} HAVING COUNT(*) > 1", DEDUPLICATE, {}),
    ("b BIGINT, c BIGINT", "b", "SELECT CAST(v AS BIGINT), COUNT(*) FROM t GROUP BY v", "", {}),
    ("v INT, c BIGINT", "c", "SELECT v, COUNT(*) FROM t GROUP BY v", DEDUPLICATE, {}),
    ("o INT, c BIGINT", "o", "SELECT 1, COUNT(*) FROM t", "", {}),
    ("k STRING, c BIGINT", "k", "SELECT k, COUNT(*) FROM t GROUP BY k", "", _FORCE),
    ("k STRING, v INT", "k", "SELECT k, v FROM t", "", _FORCE),
    ("k STRING, v INT", "k", "SELECT k, v FROM t", "", {}),
    ("k STRING, v INT", "k", "SELECT k, v FROM t", "", _FREE),
    # Watermark by watermark, of which some have several rows between them.
    ("c BIGINT, k STRING", "c", "SELECT COUNT(*), k FROM w GROUP BY k", NOTHING, {}),
    ("c BIGINT, k STRING, l STRING", "c", "SELECT COUNT(*), k, UPPER(k) FROM w GROUP BY k", NOTHING, {}),
    ("c BIGINT", "c", "SELECT COUNT(*) FROM w GROUP BY k", NOTHING, {}),
    ("v INT, k STRING", "v", f"SELECT v, k FROM ({_TOP.replace('FROM t', 'FROM w')}) WHERE n <= 2", NOTHING, {}),
    ("v INT, k STRING", "v", f"SELECT v, k FROM ({_TOP.replace('FROM t', 'FROM w')}) WHERE n = 1", NOTHING, {}),
    ("n BIGINT, c BIGINT", "n", f"SELECT n, c FROM ({_NESTED.replace('FROM t', 'FROM w')})", NOTHING, {}),
    ("n BIGINT", "n", f"SELECT n FROM ({_NESTED.replace('FROM t', 'FROM w')})", NOTHING, {}),
    ("k STRING, c BIGINT", "k", "SELECT k, COUNT(*) FROM w GROUP BY k", NOTHING, {}),
    ("k STRING, c BIGINT", "k", "SELECT k, COUNT(*) FROM w GROUP BY k", NOTHING, _FORCE),
    ("k STRING, c BIGINT", "k", "SELECT k, COUNT(*) FROM w GROUP BY k", "ON CONFLICT DO ERROR", _FORCE),
    ("l STRING, c BIGINT", "l", "SELECT UPPER(k), COUNT(*) FROM w GROUP BY k", "ON CONFLICT DO ERROR", {}),
    ("c BIGINT, k STRING", "c", "SELECT COUNT(*), k FROM w GROUP BY k", "ON CONFLICT DO ERROR", {}),
    # What is refused.
    ("c BIGINT, k STRING", "c", _COUNTS, "", {}),
    ("c BIGINT", "c", "SELECT COUNT(*) FROM t GROUP BY k", "", {}),
    ("k STRING, v INT, c BIGINT", "k", "SELECT k, v, COUNT(*) FROM t GROUP BY k, v", "", {}),
    ("b INT, c BIGINT", "b", "SELECT CAST(c AS INT), n FROM (" + _NESTED + ")", "", {}),
    ("k STRING, c BIGINT", "k", f"SELECT k, c FROM ({_COUNTS}) UNION ALL SELECT k, v FROM t", "", {}),
    ("k STRING, v INT", "k", "SELECT k, v FROM t", DEDUPLICATE, {}),
    ("k STRING, v INT", "k", "SELECT k, v FROM t", "ON CONFLICT DO NOTHING", {}),
    ("c BIGINT, k STRING", "c", "SELECT COUNT(*), k FROM plain GROUP BY k", "ON CONFLICT DO NOTHING", {}),
    ("c BIGINT, k STRING", "c", "SELECT COUNT(*), k FROM plain GROUP BY k", "ON CONFLICT DO ERROR", {}),
    ("c BIGINT, k STRING", "c", _COUNTS, DEDUPLICATE, {"table.exec.sink.upsert-materialize": "maybe"}),
    ("c BIGINT, k STRING", "c", _COUNTS, "", {"table.exec.sink.require-on-conflict": "maybe"}),
]
_DEFAULTS = {"table.exec.sink.upsert-materialize": "AUTO", "table.exec.sink.require-on-conflict": "true"}


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    rows = [{"k": k, "v": v, "ts": f"2024-01-01 00:00:{at:02}"} for at, (k, v) in enumerate(ROWS)]
    # Several rows of one time, of which the first one makes the watermark.
    together = [{**row, "ts": f"2024-01-01 00:00:{at // 3:02}"} for at, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+") as printed:
        # The reference prints rows to the output that it was started with.
        os.dup2(printed.fileno(), 1)
        environment = table_environment()
        create_file_table(environment, "t", COLUMNS, rows, Path(folder), TIMES)
        create_file_table(environment, "plain", COLUMNS, rows, Path(folder))
        create_file_table(environment, "w", COLUMNS, together, Path(folder), TIMES)
        cases = [answered(environment, number, case) for number, case in enumerate(CASES)]
        lines = Path(printed.name).read_text().splitlines()
    for number, case in enumerate(cases):
        if "plan" in case:
            match = (re.fullmatch(rf"case {number}> (..)\[(.*)\]", line) for line in lines)
            case["changes"] = [[each[1], each[2].split(", ")] for each in match if each]
    RECORDED.write_text(
        json.dumps({"rows": rows, "together": together, "cases": cases}, indent=1, ensure_ascii=False) + "\n"
    )
    return 0


def answered(environment: Any, number: int, case: tuple[str, str, str, str, dict[str, str]]) -> dict[str, Any]:
    """What the reference says to a query for a table."""
    columns, key, query, clause, options = case
    print(query, file=sys.stderr, flush=True)
    answer: dict[str, Any] = {"columns": columns, "key": key, "query": f"{query} {clause}".strip(), "options": options}
    connector = f"'connector' = 'print', 'print-identifier' = 'case {number}'"
    environment.execute_sql(f"CREATE TABLE s ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ({connector})")
    for name, value in {**_DEFAULTS, **options}.items():
        environment.get_config().set(name, value)
    try:
        plan = environment.explain_sql(f"INSERT INTO s {answer['query']}")
        answer["plan"] = plan.split("== Optimized Execution Plan ==\n")[1].splitlines()[0]
        environment.execute_sql(f"INSERT INTO s {answer['query']}").wait()
    except Exception as error:
        said = [line.split("Exception: ", 1)[1] for line in rejection_of(error).splitlines() if "Exception: " in line]
        # A job that fails says why last.
        answer["failed" if "plan" in answer else "refused"] = said[-1] if "plan" in answer else said[0]
    environment.execute_sql("DROP TABLE s")
    return answer


if __name__ == "__main__":
    sys.exit(main())
