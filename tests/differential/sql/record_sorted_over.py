"""Record what the reference gives for OVER by values in streams, and for OVER of groups, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_sorted_over.py

Writes the file beside the tests of the operators: the rows of the table t, the changes of the table c, and queries with
their changes, their plans, or the reason why they are refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from record_queries import SIGNS
from record_ranks import COLUMNS, ROWS, TIMES
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_sorted_over.json"
# A table with an operation for each row: + or -, and the values.
CHANGED = {"id": "INT", "k": "STRING", "v": "INT", "w": "INT"}
CHANGES: list[tuple[str, tuple[Any, ...]]] = [
    ("+", (1, "a", 5, 1)),
    ("+", (2, "a", 3, 1)),
    ("+", (3, "a", 5, 9)),
    ("+", (4, "a", 4, None)),
    ("+", (5, "b", 3, 0)),
    ("+", (6, "a", 3, 0)),
    ("-", (2, "a", 3, 1)),
    ("-", (3, "a", 5, 9)),
    ("+", (7, "b", 3, 4)),
    ("+", (8, "a", 5, 1)),
    # Those that are not there.
    ("-", (9, "a", 5, 1)),
    ("-", (9, "d", 1, 1)),
    ("+", (10, "b", None, 2)),
    ("+", (11, "b", 7, 0)),
    ("+", (12, "b", 2, 0)),
    ("-", (4, "a", 4, None)),
    ("-", (5, "b", 3, 0)),
    ("-", (6, "a", 3, 0)),
    ("-", (1, "a", 5, 1)),
    ("-", (8, "a", 5, 1)),
    ("+", (13, "a", 5, 1)),
    ("-", (10, "b", None, 2)),
]


def _of(calls: str, window: str, source: str = "t", more: str = "") -> str:
    text = "k, v" if source == "t" else "id, v, w"
    return f"SELECT {text}, {calls.replace('@', f'OVER ({window})')} FROM {source}{more}"


_ROWS = " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_BY_KEY, _BY_ALL = "PARTITION BY k ORDER BY v", "ORDER BY v"
_SUMS = "(SELECT k, SUM(v) AS s, COUNT(*) AS c FROM t GROUP BY k)"
_RANKED = "(SELECT k, v, {}() OVER (PARTITION BY k ORDER BY v) AS n FROM t)"
_OLDER = "TUMBLE_{}(ts, INTERVAL '5' SECOND)"
_WINDOWS = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
QUERIES = [
    # Rows that stay.
    _of("SUM(v) @", _BY_KEY),
    _of("SUM(v) @", _BY_ALL),
    _of("SUM(v) @", _BY_KEY + _ROWS),
    _of("SUM(v) @", _BY_ALL + _ROWS),
    _of("SUM(v) @", f"{_BY_ALL} ROWS UNBOUNDED PRECEDING"),
    _of("SUM(v) @, COUNT(*) @, AVG(v) @, MIN(v) @, MAX(v) @", _BY_KEY),
    _of("COUNT(v) @, MAX(k) @", _BY_ALL),
    _of("MAX(v) @", "ORDER BY k"),
    _of("MIN(v) @", "ORDER BY k" + _ROWS),
    _of("LISTAGG(k) @", _BY_ALL),
    _of("LISTAGG(k, '-') @", _BY_ALL + _ROWS),
    _of("SUM(v) @", "PARTITION BY k ORDER BY v NULLS LAST"),
    _of("COUNT(*) @", "ORDER BY k NULLS LAST"),
    _of("COUNT(*) @", "ORDER BY v + 1"),
    _of("COUNT(*) @", "PARTITION BY CHAR_LENGTH(k) ORDER BY k"),
    _of("SUM(CAST(v AS DOUBLE)) @", "PARTITION BY k ORDER BY CAST(v AS DOUBLE)"),
    _of("SUM(CAST(v AS DECIMAL(5, 2))) @", "PARTITION BY k ORDER BY CAST(v AS DECIMAL(5, 2))"),
    _of("SUM(COALESCE(v, 0)) @", "ORDER BY k"),
    _of("SUM(v) @, COUNT(*) @", "w", more=f" WINDOW w AS ({_BY_KEY})").replace("(w)", "w"),
    "SELECT k, v, n FROM (SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY v) AS n FROM t) WHERE n > 1",
    "SELECT k, SUM(n) FROM (SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY v) AS n FROM t) GROUP BY k",
    "SELECT k, s, SUM(s) OVER (ORDER BY s) FROM (SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v) AS s FROM t)",
    _of("SUM(v) @", _BY_KEY, more=" WHERE v > 1"),
    # Numbers of all rows.
    _of("ROW_NUMBER() @", _BY_KEY),
    _of("ROW_NUMBER() @", _BY_ALL),
    _of("ROW_NUMBER() @, SUM(v) OVER (PARTITION BY k ORDER BY v ROWS UNBOUNDED PRECEDING)", _BY_KEY),
    f"SELECT k, v, n FROM {_RANKED.format('ROW_NUMBER')} WHERE v > 1",
    f"SELECT k, v, n FROM {_RANKED.format('RANK')} WHERE v > 6",
    "SELECT k, c, RANK() OVER (ORDER BY k) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k)",
    "SELECT k, c, DENSE_RANK() OVER (ORDER BY k) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k)",
    # With rows that are equal by the order, ranks of the reference count these too.
    _of("RANK() @", _BY_KEY),
    _of("DENSE_RANK() @", _BY_ALL),
    # Rows that go.
    _of("SUM(w) @", _BY_KEY, "c"),
    _of("SUM(w) @", _BY_ALL, "c"),
    _of("SUM(w) @", _BY_KEY + _ROWS, "c"),
    _of("SUM(w) @, COUNT(*) @", _BY_ALL + _ROWS, "c"),
    _of("COUNT(w) @", _BY_KEY, "c"),
    _of("AVG(w) @", _BY_KEY, "c"),
    _of("MAX(w) @", _BY_KEY, "c"),
    _of("MIN(w) @", _BY_ALL + _ROWS, "c"),
    _of("LISTAGG(k) @", _BY_KEY, "c"),
    _of("ROW_NUMBER() @", _BY_KEY, "c"),
    _of("SUM(COALESCE(w, 0)) @", _BY_KEY, "c"),
    "SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY v ROWS UNBOUNDED PRECEDING) FROM c",
    f"SELECT k, s, SUM(s) OVER (ORDER BY s) FROM {_SUMS}",
    f"SELECT k, s, SUM(s) OVER (ORDER BY s{_ROWS}) FROM {_SUMS}",
    f"SELECT k, c, COUNT(*) OVER (PARTITION BY c ORDER BY k) FROM {_SUMS}",
    f"SELECT k, c, MAX(c) OVER (ORDER BY k) FROM {_SUMS}",
    f"SELECT c, COUNT(*) OVER (ORDER BY c) FROM {_SUMS}",
    f"SELECT c, COUNT(*) OVER (ORDER BY c{_ROWS}) FROM {_SUMS}",
    f"SELECT k, c, ROW_NUMBER() OVER (ORDER BY c) FROM {_SUMS}",
    # Groups.
    "SELECT k, SUM(v), SUM(SUM(v)) OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT k, SUM(v) AS s, SUM(SUM(v)) OVER (ORDER BY SUM(v)) - SUM(v) AS d FROM t GROUP BY k",
    "SELECT k, COUNT(*), SUM(COUNT(*)) OVER (PARTITION BY COUNT(*) ORDER BY MAX(v)) FROM t GROUP BY k",
    "SELECT UPPER(k), COUNT(*) OVER (ORDER BY k) + COUNT(*) AS n FROM t GROUP BY k",
    "SELECT k, COUNT(*) OVER (ORDER BY k) FROM t GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, ROW_NUMBER() OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT SUM(v), COUNT(*) OVER (ORDER BY SUM(v)) FROM t",
    "SELECT COUNT(*) OVER (ORDER BY SUM(v)) FROM t GROUP BY k",
    "SELECT k, SUM(SUM(v)) OVER w FROM t GROUP BY k WINDOW w AS (ORDER BY k)",
    "SELECT k, rn FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS rn FROM t GROUP BY k) WHERE rn <= 2",
    "SELECT * FROM (SELECT k, c, ROW_NUMBER() OVER (PARTITION BY c ORDER BY SUM(v) DESC) AS rn FROM "
    "(SELECT k, v, CHAR_LENGTH(k) AS c FROM t) GROUP BY k, c) WHERE rn = 1",
    "SELECT DISTINCT COUNT(*) OVER (ORDER BY COUNT(*)) FROM t GROUP BY k",
    f"SELECT window_start, k, COUNT(*), SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY window_start) FROM {_WINDOWS} "
    "GROUP BY k, window_start, window_end",
    f"SELECT window_time, k, COUNT(*), SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY window_time) FROM {_WINDOWS} "
    "GROUP BY k, window_start, window_end, window_time",
    f"SELECT window_time, k, SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY window_time ROWS 1 PRECEDING) FROM {_WINDOWS} "
    "GROUP BY k, window_start, window_end, window_time",
    "SELECT k, SUM(SUM(v)) OVER (PARTITION BY CASE WHEN COUNT(*) > 2 THEN 1 ELSE 0 END ORDER BY k) FROM t GROUP BY k",
    f"SELECT k, {_OLDER.format('START')} AS window_start, SUM(COUNT(*)) OVER (PARTITION BY k ORDER BY "
    f"{_OLDER.format('ROWTIME')}) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND)",
    f"SELECT k, COUNT(*) OVER w AS c FROM t WHERE k = 'a' GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND) "
    f"WINDOW w AS (ORDER BY {_OLDER.format('START')})",
    # Readers of changes.
    "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM (SELECT k, v, MAX(ts) AS ts FROM t GROUP BY k, v)",
    "SELECT k, c FROM (SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY v) AS c FROM t) GROUP BY k, c",
    "SELECT k, v, c FROM (SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v) AS c FROM t) ORDER BY c DESC LIMIT 2",
    "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM t UNION ALL SELECT k, v, 0 FROM t WHERE v > 6",
    # What is refused.
    "SELECT k, SUM(c) OVER (ORDER BY ts) FROM (SELECT *, COUNT(*) OVER (ORDER BY v) AS c FROM t)",
    _of("SUM(v) @", "PARTITION BY k ORDER BY v DESC"),
    _of("SUM(v) @", "PARTITION BY k ORDER BY ts DESC"),
    _of("SUM(v) @", "ORDER BY k, v"),
    _of("SUM(v) @", "PARTITION BY k"),
    _of("SUM(v) @", ""),
    _of("COUNT(*) @", "ORDER BY 1"),
    _of("SUM(v) @", "PARTITION BY k ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    _of("SUM(v) @", "PARTITION BY k ORDER BY v RANGE BETWEEN 2 PRECEDING AND CURRENT ROW"),
    _of("COUNT(*) @", "ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
    _of("ROW_NUMBER() @", "PARTITION BY k ORDER BY v DESC"),
    _of("ROW_NUMBER() @", "PARTITION BY k ORDER BY v, ts"),
    _of("ROW_NUMBER() @", "PARTITION BY k"),
    _of("RANK() @", "PARTITION BY k ORDER BY v DESC"),
    _of("RANK() @", "PARTITION BY k"),
    _of("LEAD(v) @", _BY_KEY),
    _of("NTILE(2) @", _BY_KEY),
    _of("CUME_DIST() @", _BY_KEY),
    f"SELECT k, v FROM {_RANKED.format('ROW_NUMBER')} WHERE n > 1",
    f"SELECT k, v FROM {_RANKED.format('RANK')} WHERE n > 1",
    f"SELECT k, v FROM {_RANKED.format('RANK')} WHERE n <= 2",
    f"SELECT k, v FROM {_RANKED.format('DENSE_RANK')} WHERE n <= 2",
    # Several windows.
    _of("SUM(v) @, COUNT(*) OVER (ORDER BY v)", _BY_KEY),
    _of("SUM(v) @, ROW_NUMBER() @", _BY_KEY),
    _of("SUM(v) @, COUNT(*) OVER (PARTITION BY k ORDER BY v ROWS UNBOUNDED PRECEDING)", _BY_KEY),
    _of("SUM(v) @, COUNT(*) OVER (ORDER BY ts)", "PARTITION BY k ORDER BY ts"),
    _of("SUM(v) @, COUNT(*) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING)", "PARTITION BY k ORDER BY ts"),
    # Groups that are refused.
    "SELECT k, SUM(v), RANK() OVER (ORDER BY SUM(v) DESC) FROM t GROUP BY k",
    "SELECT k, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS rn FROM t GROUP BY k",
    "SELECT k, v, SUM(COUNT(*)) OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT k, SUM(COUNT(*)) OVER (ORDER BY v) FROM t GROUP BY k",
    "SELECT k, SUM(v) OVER (ORDER BY k) FROM t GROUP BY k",
    "SELECT k, COUNT(*) OVER (PARTITION BY v ORDER BY k) FROM t GROUP BY k",
    "SELECT k FROM t GROUP BY k HAVING SUM(SUM(v)) OVER (ORDER BY k) > 2",
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    rows = [{"k": k, "ts": f"2024-01-01 00:00:{second:02}", "v": v} for k, second, v in ROWS]
    changes = [debezium(sign, dict(zip(CHANGED, row))) for sign, row in CHANGES]
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment()
        create_file_table(environment, "t", COLUMNS, rows, Path(folder), TIMES)
        create_changing_table(environment, changes, Path(folder))
        cases = [answered(environment, query) for query in QUERIES]
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    settings = f'"rows": {json.dumps(rows)},\n"changes": {json.dumps(changes)}'
    RECORDED.write_text(f'{{{settings},\n"cases": [\n{lines}\n]}}\n')
    return 0


def debezium(sign: str, row: dict[str, Any]) -> dict[str, Any]:
    """A change as Debezium writes it."""
    return {"op": "c", "before": None, "after": row} if sign == "+" else {"op": "d", "before": row, "after": None}


def create_changing_table(environment: Any, changes: list[dict[str, Any]], folder: Path) -> None:
    path = folder / "c.json"
    path.write_text("".join(json.dumps(each) + "\n" for each in changes))
    schema = ", ".join(f"{column} {data_type}" for column, data_type in CHANGED.items())
    environment.execute_sql(
        f"CREATE TABLE c ({schema}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'debezium-json')"
    )


def answered(environment: Any, query: str) -> dict[str, Any]:
    """What the reference says to a query."""
    print(query, file=sys.stderr, flush=True)
    try:
        plan = environment.explain_sql(query).split("== Optimized Execution Plan ==\n")[1]
        nodes = [line.strip(" +-") for line in plan.splitlines() if "OverAggregate(" in line]
        with environment.sql_query(query).execute().collect() as results:
            changes = [[SIGNS[row.get_row_kind().name], [str(each) for each in row]] for row in results]
    except Exception as error:
        reasons = [line for line in rejection_of(error).splitlines() if "Exception: " in line]
        return {"query": query, "refused": reasons[-1].split("Exception: ", 1)[1][:200]}
    return {"query": query, "changes": changes, "nodes": nodes}


if __name__ == "__main__":
    sys.exit(main())
