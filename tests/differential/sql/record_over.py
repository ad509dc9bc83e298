"""Record what the reference gives for OVER windows in batch mode: any order, any frame, several windows.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_over.py

Writes the file beside the tests of the operators: the rows of the table t, and queries with their types and rows, or
the reason why they are refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from recorded_form import plain
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment, types_of

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_over.json"
COLUMNS = {
    "id": "INT",
    "k": "STRING",
    "v": "INT",
    "b": "BIGINT",
    "d": "DOUBLE",
    "p": "DECIMAL(10, 2)",
    "s": "STRING",
    "dy": "DATE",
    "ts": "TIMESTAMP(3)",
}
ROWS: list[tuple[Any, ...]] = [
    (1, "a", 5, 10, 0.5, 1.25, "x", "2024-01-01", "2024-01-01 00:00:01"),
    (2, "b", None, 20, 1.5, 2.5, "y", "2024-01-02", "2024-01-01 00:00:02"),
    (3, "a", 3, None, 0.1, None, None, "2024-01-03", "2024-01-01 00:00:05"),
    (4, "c", 5, 9223372036854775807, 2.5, 10.0, "z", None, "2024-01-01 00:00:05"),
    (5, "b", 1, 5, None, 0.75, "x", "2024-01-05", "2024-01-01 00:00:09"),
    (6, "c", 1, 9223372036854775800, -3.0, 7.1, "y", "2024-01-01", "2024-01-01 00:00:11"),
    (7, None, 7, 3, 0.2, 3.3, "w", "2024-01-07", None),
    (8, "a", 3, 4, 0.3, 1.25, "q", "2024-01-03", "2024-01-01 00:00:12"),
    (9, "b", 0, 8, 1e300, -2.5, "", "2024-01-09", "2024-01-01 00:00:20"),
    (10, "a", None, 2, 7.0, 5.0, "x", "2024-01-04", "2024-01-01 00:00:21"),
    (11, None, 7, 1, 0.7, None, "v", "2024-01-02", "2024-01-01 00:00:21"),
    (12, "a", 9, 6, 0.9, 8.0, "u", "2024-01-20", "2024-01-01 00:01:00"),
]


def _of(calls: str, window: str = "", more: str = "") -> str:
    return f"SELECT id, {calls.replace('@', f'OVER ({window})')} FROM t{more}"


_BY_KEY = "PARTITION BY k ORDER BY id"
_BY_VALUE = "PARTITION BY k ORDER BY v"
# Its frames of times fail at a NULL, and otherwise too.
_TIMED = " WHERE ts IS NOT NULL"
QUERIES = [
    # Places.
    _of("ROW_NUMBER() @", _BY_KEY),
    _of("ROW_NUMBER() @", "ORDER BY id DESC"),
    _of("RANK() @, DENSE_RANK() @", _BY_VALUE),
    _of("RANK() @, DENSE_RANK() @, ROW_NUMBER() OVER (ORDER BY id)", "ORDER BY v DESC"),
    _of("RANK() @, DENSE_RANK() @", "ORDER BY k, v DESC"),
    _of("PERCENT_RANK() @, CUME_DIST() @", _BY_VALUE),
    _of("PERCENT_RANK() @, CUME_DIST() @", "ORDER BY v DESC NULLS LAST"),
    _of("NTILE(3) @, NTILE(100) @", "ORDER BY id"),
    _of("NTILE(2) @", _BY_KEY),
    _of("RANK() @", "ORDER BY v NULLS LAST"),
    _of("RANK() @", "ORDER BY v DESC NULLS FIRST"),
    _of("RANK() @", "PARTITION BY k, v ORDER BY s"),
    _of("RANK() @", "ORDER BY CHAR_LENGTH(s), v + 1"),
    # Rows before and behind.
    _of("LAG(v) @, LEAD(v) @", _BY_KEY),
    _of("LAG(v, 2) @, LEAD(v, 2) @", _BY_KEY),
    _of("LAG(v, 1, -1) @, LEAD(v, 1, -1) @", _BY_KEY),
    _of("LAG(s, 1, 'none') @, LEAD(s, 2, 'none') @", "ORDER BY id DESC"),
    _of("LAG(v, 0) @, LEAD(v + 1, 1) @", _BY_KEY),
    _of("LAG(v, 1, id) @, LEAD(b, 1, 0) @", _BY_KEY),
    _of("FIRST_VALUE(v) @, LAST_VALUE(v) @", _BY_KEY),
    _of("FIRST_VALUE(s) @, LAST_VALUE(s) @", f"{_BY_KEY} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
    _of("FIRST_VALUE(v) @, LAST_VALUE(v) @", f"{_BY_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
    # Frames that are not written down.
    _of("COUNT(*) @, COUNT(v) @, SUM(v) @, AVG(v) @, MIN(v) @, MAX(v) @", "PARTITION BY k"),
    _of("COUNT(*) @, SUM(v) @, AVG(v) @, MIN(s) @, MAX(s) @", ""),
    _of("COUNT(*) @, SUM(v) @, AVG(v) @, MIN(v) @, MAX(v) @", _BY_VALUE),
    _of("COUNT(*) @, SUM(v) @, AVG(d) @, MIN(p) @, MAX(dy) @", "ORDER BY v DESC"),
    _of("SUM(p) @, AVG(p) @, SUM(b) @, AVG(b) @", _BY_KEY),
    _of("SUM(d) @, AVG(d) @", _BY_KEY),
    _of("SUM(1) @, COUNT(1) @, MAX(id) @, AVG(2) @", _BY_KEY),
    _of("STDDEV_POP(v) @, VAR_SAMP(v) @", _BY_KEY),
    _of("STDDEV_POP(d) @, VAR_SAMP(d) @", _BY_KEY, " WHERE k = 'a'"),
    _of("LISTAGG(s) @", _BY_KEY),
    _of("LISTAGG(s, '-') @", f"{_BY_KEY} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    _of("COUNT(DISTINCT v) @", _BY_KEY),
    _of("SUM(v) FILTER (WHERE id > 3) @", _BY_KEY),
    # Rows of a frame.
    _of("SUM(v) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
    _of("SUM(v) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"),
    _of("SUM(v) @, COUNT(*) @, MIN(v) @", f"{_BY_KEY} ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING"),
    _of("SUM(v) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    _of("SUM(v) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
    _of("SUM(v) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    _of("MAX(v) @, MIN(d) @, AVG(d) @", "ORDER BY id ROWS 2 PRECEDING"),
    _of("MAX(v) @, AVG(v) @", "ORDER BY id DESC ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING"),
    _of("COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN CURRENT ROW AND CURRENT ROW"),
    # Values of a frame.
    _of("SUM(v) @, COUNT(*) @", f"{_BY_VALUE} RANGE BETWEEN 2 PRECEDING AND CURRENT ROW"),
    _of("SUM(v) @, COUNT(*) @", "ORDER BY v RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING"),
    _of("SUM(v) @, COUNT(*) @", "ORDER BY v DESC RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING"),
    _of("SUM(v) @, COUNT(*) @", "ORDER BY v NULLS LAST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN 1 FOLLOWING AND 3 FOLLOWING"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING", " WHERE v >= 0"),
    _of("SUM(v) @, COUNT(*) @", f"{_BY_VALUE} RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING", " WHERE v >= 0"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
    _of("LISTAGG(s) @, SUM(d) @", f"{_BY_KEY} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    _of("SUM(b) @, MAX(s) @", f"{_BY_KEY} ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING"),
    _of("COUNT(*) @", "ORDER BY v, k RANGE BETWEEN CURRENT ROW AND CURRENT ROW"),
    _of("COUNT(*) @", "ORDER BY d RANGE BETWEEN 0.5 PRECEDING AND 0.5 FOLLOWING"),
    _of("COUNT(*) @", "ORDER BY p RANGE BETWEEN 1.5 PRECEDING AND 1.25 FOLLOWING"),
    _of("COUNT(*) @, SUM(v) @", "ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW", _TIMED),
    _of(
        "COUNT(*) @",
        "ORDER BY ts DESC RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND INTERVAL '4' SECOND FOLLOWING",
        _TIMED,
    ),
    _of("COUNT(*) @", "ORDER BY dy RANGE BETWEEN INTERVAL '2' DAY PRECEDING AND CURRENT ROW", " WHERE dy IS NOT NULL"),
    # Several windows, and windows with names.
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id) AS a, SUM(v) OVER (PARTITION BY s) AS b, "
    "RANK() OVER (ORDER BY v) AS c FROM t",
    "SELECT id, SUM(v) OVER w AS a, COUNT(*) OVER w AS b, LAG(v) OVER w AS c FROM t "
    "WINDOW w AS (PARTITION BY k ORDER BY id)",
    "SELECT id, SUM(v) OVER w AS a, RANK() OVER x AS b FROM t WINDOW w AS (PARTITION BY k), x AS (ORDER BY v)",
    "SELECT id, SUM(v) OVER (w ORDER BY id) AS a FROM t WINDOW w AS (PARTITION BY k)",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id ROWS 1 PRECEDING) AS a, "
    "SUM(v) OVER (PARTITION BY k ORDER BY id) AS b FROM t",
    "SELECT id, v - AVG(v) OVER (PARTITION BY k) AS a, CAST(SUM(v) OVER () AS BIGINT) + 1 AS b FROM t WHERE id < 9",
    "SELECT k, n, RANK() OVER (ORDER BY n DESC) AS r FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k)",
    "SELECT id, r FROM (SELECT id, RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM t) WHERE r <= 1",
    "SELECT id, r FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM t) WHERE r <= 2",
    "SELECT id, r FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS r FROM t) WHERE r > 1",
    "SELECT SUM(r) FROM (SELECT RANK() OVER (ORDER BY v) AS r FROM t)",
    "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id) AS a FROM t WHERE id > 100",
    # Windows of groups.
    "SELECT k, SUM(v), RANK() OVER (ORDER BY SUM(v) DESC) FROM t GROUP BY k",
    "SELECT k, SUM(v) AS s, SUM(SUM(v)) OVER (ORDER BY k) AS t, SUM(v) - AVG(SUM(v)) OVER () AS d FROM t GROUP BY k",
    "SELECT k, s, COUNT(*) AS c, SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY s) AS t FROM t GROUP BY k, s",
    "SELECT CHAR_LENGTH(s) AS n, RANK() OVER (ORDER BY CHAR_LENGTH(s), COUNT(*)) FROM t GROUP BY CHAR_LENGTH(s)",
    "SELECT k, RANK() OVER (ORDER BY COUNT(*)), ROW_NUMBER() OVER (ORDER BY k) FROM t GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, LAG(MAX(id)) OVER (ORDER BY k) AS l, NTILE(2) OVER (ORDER BY MIN(id)) AS n FROM t GROUP BY k",
    "SELECT k, SUM(COUNT(v)) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS c FROM t GROUP BY k",
    "SELECT k, SUM(SUM(v)) OVER w AS a, COUNT(*) OVER w AS b FROM t GROUP BY k WINDOW w AS (ORDER BY MAX(id))",
    "SELECT COUNT(*) OVER (ORDER BY SUM(v)) FROM t",
    "SELECT k, RANK() OVER (ORDER BY SUM(v)) AS r FROM t GROUP BY k ORDER BY r, k LIMIT 3",
    "SELECT k, SUM(v) FROM t GROUP BY k ORDER BY RANK() OVER (ORDER BY SUM(v)), k LIMIT 2",
    "SELECT DISTINCT COUNT(*) OVER (PARTITION BY COUNT(*)) FROM t GROUP BY k",
    "SELECT k, s, GROUPING(s) AS g, RANK() OVER (PARTITION BY GROUPING(s) ORDER BY COUNT(*) DESC) AS r FROM t "
    "GROUP BY ROLLUP (k, s)",
    "SELECT k, r FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY SUM(v) DESC, k) AS r FROM t GROUP BY k) WHERE r <= 2",
    "SELECT dy, COUNT(*) AS c, SUM(COUNT(*)) OVER (ORDER BY dy) AS t FROM t WHERE v > 1 GROUP BY dy",
    "SELECT k, SUM(v) OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT k, v, RANK() OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT k, RANK() OVER (ORDER BY v) FROM t GROUP BY k",
    "SELECT k FROM t GROUP BY k HAVING RANK() OVER (ORDER BY k) > 1",
    "SELECT k, SUM(MAX(v) OVER (ORDER BY k)) FROM t GROUP BY k",
    # What is refused.
    _of("RANK() @", "PARTITION BY k"),
    _of("ROW_NUMBER() @", "PARTITION BY k"),
    _of("PERCENT_RANK() @", "PARTITION BY k"),
    _of("CUME_DIST() @", "PARTITION BY k"),
    _of("NTILE(2) @", "PARTITION BY k"),
    _of("LAG(v) @", "PARTITION BY k"),
    _of("SUM(1) @, MIN(2) @, COUNT(*) @", f"{_BY_KEY} ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING"),
    _of("RANK() @", "ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    _of("NTILE(0) @", "ORDER BY v"),
    _of("COUNT(*) @", "ORDER BY v, k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW"),
    _of("COUNT(*) @", "ORDER BY s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW"),
    _of("COUNT(*) @", "PARTITION BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    _of("COUNT(*) @", "ORDER BY v ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING"),
    _of("COUNT(*) @", "ORDER BY v ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW"),
    _of("COUNT(*) @", "ORDER BY v RANGE BETWEEN 1 PRECEDING AND 2 PRECEDING"),
    _of("SUM(v) OVER w", ""),
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    rows = [dict(zip(COLUMNS, row)) for row in ROWS]
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment("batch")
        create_file_table(environment, "t", COLUMNS, rows, Path(folder))
        cases = [answered(environment, query) for query in QUERIES]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    RECORDED.write_text(f'{{"columns": {json.dumps(COLUMNS)},\n"rows": {json.dumps(rows)},\n"cases": [\n{lines}\n]}}\n')
    return 0


def answered(environment: Any, query: str) -> dict[str, Any]:
    """What the reference says to a query."""
    print(query, file=sys.stderr, flush=True)
    try:
        table = environment.sql_query(query)
        types = types_of(table)
        plan = environment.explain_sql(query).split("== Optimized Execution Plan ==\n")[1]
        nodes = [line.strip(" +-") for line in plan.splitlines() if "OverAggregate(" in line]
        with table.execute().collect() as results:
            answer_rows = sorted(([plain(each) for each in row] for row in results), key=repr)
    except Exception as error:
        return {"query": query, "refused": rejection_of(error).splitlines()[-1][-400:]}
    return {"query": query, "types": types, "rows": answer_rows, "nodes": nodes}


if __name__ == "__main__":
    sys.exit(main())
