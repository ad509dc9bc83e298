"""Record what the reference gives for the first rows by an order, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_ranks.py

Writes the file beside the tests of the operators: the rows of the table t, and queries with their changes, their plans,
or the reason why they are refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from record_queries import SIGNS
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_ranks.json"
COLUMNS = {"k": "STRING", "ts": "TIMESTAMP(3)", "v": "INT"}
TIMES = ", pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
ROWS: list[tuple[Any, int, Any]] = [
    ("a", 1, 5),
    ("b", 2, None),
    ("a", 9, 3),
    ("c", 4, 5),
    ("b", 12, 1),
    ("c", 6, 1),
    (None, 14, 7),
    ("a", 11, 3),
    ("b", 14, 0),
    ("d", 30, 5),
    ("a", 22, None),
    ("c", 29, 2),
    ("e", 29, 1),
    ("b", 12, 1),
    ("b", 40, 3),
    (None, 14, 7),
    ("d", 5, 6),
    ("d", 30, 6),
]


def _numbered(window: str, source: str = "t") -> str:
    return f"(SELECT *, ROW_NUMBER() OVER ({window}) AS rn FROM {source})"


_COUNTS = "(SELECT k, v, COUNT(*) AS c FROM t GROUP BY k, v)"
_SUMS = "(SELECT k, v, SUM(v) AS s, COUNT(*) AS c FROM t GROUP BY k, v)"
_LAST = _numbered("PARTITION BY k ORDER BY ts DESC")
QUERIES = [
    # Orders with a limit, over rows that stay and over results that change.
    "SELECT k, v FROM t ORDER BY v LIMIT 1",
    "SELECT k, v FROM t ORDER BY v DESC, k LIMIT 1",
    "SELECT k, v FROM t ORDER BY v LIMIT 2 OFFSET 1",
    "SELECT k, v FROM t ORDER BY v DESC, k OFFSET 2 ROWS FETCH NEXT 2 ROWS ONLY",
    "SELECT k, v FROM t ORDER BY v FETCH FIRST 2 ROWS ONLY",
    "SELECT k, v FROM t ORDER BY v LIMIT 0",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c DESC LIMIT 2",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c DESC LIMIT 1",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c LIMIT 2",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY k DESC LIMIT 2",
    "SELECT k, SUM(v) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 2",
    "SELECT k, SUM(v) AS s FROM t GROUP BY k ORDER BY s LIMIT 1",
    "SELECT k, SUM(v) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 2 OFFSET 1",
    "SELECT k, MAX(v) AS m, COUNT(*) AS c FROM t GROUP BY k ORDER BY m DESC LIMIT 2",
    "SELECT k, MAX(v) AS m, COUNT(*) AS c FROM t GROUP BY k ORDER BY m DESC LIMIT 1",
    "SELECT k, MAX(v) AS m, COUNT(*) AS c FROM t GROUP BY k ORDER BY m DESC LIMIT 2 OFFSET 1",
    "SELECT k, MIN(v) AS m FROM t GROUP BY k ORDER BY m LIMIT 3",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k HAVING COUNT(*) > 1 ORDER BY c DESC LIMIT 2",
    "SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) WHERE c < 4 ORDER BY c DESC LIMIT 2",
    "SELECT k, SUM(v) AS s FROM t WHERE v > 0 GROUP BY k ORDER BY s DESC LIMIT 2",
    "SELECT k, SUM(1) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 2",
    "SELECT k, COUNT(*) + 1 AS c FROM t GROUP BY k ORDER BY c DESC LIMIT 2",
    "SELECT UPPER(k) AS u, COUNT(*) AS c FROM t GROUP BY k ORDER BY c DESC LIMIT 2",
    "SELECT c, COUNT(*) AS n FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c ORDER BY n DESC, c LIMIT 2",
    "SELECT SUM(c), COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c DESC LIMIT 2)",
    "SELECT SUM(s), COUNT(*) FROM (SELECT k, SUM(v) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 2)",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k LIMIT 2",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k LIMIT 2 OFFSET 1",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k LIMIT 1",
    "SELECT v FROM t LIMIT 2 OFFSET 1",
    # Deduplication.
    f"SELECT k, ts, v FROM {_LAST} WHERE rn = 1",
    f"SELECT k, v, rn FROM {_LAST} WHERE rn = 1",
    f"SELECT k FROM {_LAST} WHERE rn = 1",
    f"SELECT k, ts, v FROM {_numbered('PARTITION BY k ORDER BY ts')} WHERE rn = 1",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY ts')} WHERE rn <= 1",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY pt')} WHERE rn = 1",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY pt DESC')} WHERE rn = 1",
    f"SELECT k FROM {_numbered('PARTITION BY k ORDER BY pt DESC')} WHERE rn = 1",
    f"SELECT k, v FROM {_numbered('ORDER BY ts DESC')} WHERE rn = 1",
    f"SELECT k, v FROM {_LAST} WHERE rn = 1 AND v > 2",
    f"SELECT COUNT(*), SUM(v) FROM {_LAST} WHERE rn = 1",
    f"SELECT COUNT(*), SUM(v) FROM {_numbered('PARTITION BY k ORDER BY ts')} WHERE rn = 1",
    # The first rows of each key.
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v DESC')} WHERE rn = 1",
    f"SELECT k, v, ts FROM {_numbered('PARTITION BY k ORDER BY ts DESC, v')} WHERE rn = 1",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v')} WHERE rn <= 2",
    f"SELECT k, v, rn FROM {_numbered('PARTITION BY k ORDER BY v')} WHERE rn <= 2",
    f"SELECT k, v, rn FROM {_numbered('PARTITION BY k ORDER BY ts')} WHERE rn <= 2",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v DESC')} WHERE rn BETWEEN 2 AND 3",
    f"SELECT k, v, rn FROM {_numbered('PARTITION BY k ORDER BY v DESC')} WHERE rn = 2",
    f"SELECT k, v, rn FROM {_numbered('ORDER BY v DESC')} WHERE rn < 4 AND v > 1",
    f"SELECT rn, k, c FROM {_numbered('ORDER BY c DESC', '(SELECT k, COUNT(*) AS c FROM t GROUP BY k)')} WHERE rn <= 2",
    f"SELECT k, v, c FROM {_numbered('PARTITION BY k ORDER BY c DESC', _COUNTS)} WHERE rn <= 2",
    f"SELECT k, v, c, rn FROM {_numbered('PARTITION BY k ORDER BY c DESC', _COUNTS)} WHERE rn <= 2",
    f"SELECT k, v, c FROM {_numbered('PARTITION BY k ORDER BY c DESC', _COUNTS)} WHERE rn = 1",
    f"SELECT k, v, c, rn FROM {_numbered('PARTITION BY c ORDER BY v', _COUNTS)} WHERE rn <= 2",
    f"SELECT k, v, s FROM {_numbered('PARTITION BY k ORDER BY s DESC, v', _SUMS)} WHERE rn <= 2",
    f"SELECT k, v, s FROM {_numbered('PARTITION BY k ORDER BY s DESC, v', _SUMS)} WHERE rn = 1",
    # What is refused.
    "SELECT k FROM t ORDER BY v",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c",
    "SELECT k FROM t ORDER BY v OFFSET 1 ROW",
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k OFFSET 1 ROW",
    f"SELECT k, v, rn FROM {_numbered('PARTITION BY k ORDER BY v')}",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v')} WHERE rn > 2",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v').replace('ROW_NUMBER', 'RANK')} WHERE rn <= 2",
    f"SELECT k, v FROM {_numbered('PARTITION BY k ORDER BY v').replace('ROW_NUMBER', 'DENSE_RANK')} WHERE rn <= 2",
]


def record(script: str, queries: Sequence[str], recorded: Path) -> int:
    """Writes down what the reference says to queries over the rows."""
    answer = run_in_reference(script, sys.argv[1:])
    if answer is not None:
        return answer
    rows = [{"k": k, "ts": f"2024-01-01 00:00:{second:02}", "v": v} for k, second, v in ROWS]
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment()
        create_file_table(environment, "t", COLUMNS, rows, Path(folder), TIMES)
        cases = [answered(environment, query) for query in queries]
    recorded.write_text(json.dumps({"rows": rows, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
    return 0


def answered(environment: Any, query: str) -> dict[str, Any]:
    """What the reference says to a query."""
    from pyflink.table import ExplainDetail  # type: ignore[import-not-found]

    print(query, file=sys.stderr, flush=True)
    try:
        plan = environment.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
        physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
        with environment.sql_query(query).execute().collect() as results:
            changes = [[SIGNS[row.get_row_kind().name], [str(each) for each in row]] for row in results]
    except Exception as error:
        return {"query": query, "refused": rejection_of(error).splitlines()[0][:300]}
    return {"query": query, "changes": changes, "plan": physical.strip().splitlines()}


if __name__ == "__main__":
    sys.exit(record(__file__, QUERIES, RECORDED))
