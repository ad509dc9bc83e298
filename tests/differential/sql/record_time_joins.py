"""Record what the reference gives for interval joins and window joins.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_time_joins.py

Writes the file beside the tests of the operators: the rows of the tables a and b, and queries with their changes and
their plans, or the reason why they are refused. No row is late; the rows of both tables come in any order.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from record_queries import SIGNS
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_time_joins.json"
TIMES = ", pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
# A key, a value and a second; disorder stays below the bound of the watermarks.
LEFT: list[tuple[Any, int, int]] = [
    ("a", 1, 1),
    ("b", 2, 4),
    ("a", 3, 3),
    ("c", 4, 9),
    (None, 5, 7),
    ("a", 6, 12),
    ("b", 7, 11),
    ("a", 8, 19),
    ("c", 9, 20),
    ("d", 10, 33),
    ("b", 11, 31),
    ("a", 12, 45),
]
RIGHT: list[tuple[Any, int, int]] = [
    ("a", 1, 2),
    (None, 2, 5),
    ("a", 3, 1),
    ("b", 4, 8),
    ("c", 5, 10),
    ("a", 6, 14),
    ("a", 7, 11),
    ("b", 8, 19),
    ("e", 9, 22),
    ("c", 10, 20),
    ("b", 11, 31),
    ("d", 12, 36),
    ("a", 13, 50),
]
TABLES: dict[str, tuple[dict[str, str], list[Any]]] = {
    "a": ({"k": "STRING", "v": "INT", "ts": "TIMESTAMP(3)"}, LEFT),
    "b": ({"k": "STRING", "w": "INT", "ts": "TIMESTAMP(3)"}, RIGHT),
    "instants": ({"k": "STRING", "w": "INT", "ts": "TIMESTAMP_LTZ(3)"}, RIGHT),
    "strict": ({"k": "STRING", "w": "INT", "ts": "TIMESTAMP(3) NOT NULL"}, RIGHT),
}


def near(kind: str, condition: str, columns: str = "a.k, v, w", other: str = "b") -> str:
    """A join of a with another table by its key and a condition on times."""
    return f"SELECT {columns} FROM a {kind} JOIN {other} AS b ON a.k = b.k AND {condition}"


def windowed(function: str, table: str) -> str:
    """A table with windows: @ stands for it."""
    return f"TABLE({function.replace('@', f'TABLE {table}')})"


TUMBLE = "TUMBLE(@, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
HOP = "HOP(@, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
CUMULATE = "CUMULATE(@, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
SESSION = "SESSION(@ PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND)"
SAME = "L.window_start = R.window_start AND L.window_end = R.window_end"


def in_windows(
    kind: str, more: str = " AND L.k = R.k", function: str = TUMBLE, columns: str = "L.k, v, w", other: str = ""
) -> str:
    """A join of a with b by windows, and more conditions."""
    right = windowed(other or function, "b")
    return f"SELECT {columns} FROM {windowed(function, 'a')} AS L {kind} JOIN {right} AS R ON {SAME}{more}"


def half(test: str) -> str:
    """The rows of windows of a that have others in the same window of b, or have none."""
    inner = f"SELECT R.k FROM {windowed(TUMBLE, 'b')} AS R WHERE {SAME}"
    return f"SELECT L.k, v FROM {windowed(TUMBLE, 'a')} AS L WHERE {test.replace('@', inner)}"


BETWEEN = "a.ts BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts + INTERVAL '2' SECOND"
_SUMS = (
    f"(SELECT k, window_start, window_end, SUM(v) AS s FROM {windowed(TUMBLE, 'a')} "
    "GROUP BY k, window_start, window_end)"
)
_COUNTS = (
    f"(SELECT window_start, window_end, COUNT(*) AS c FROM {windowed(TUMBLE, 'b')} GROUP BY window_start, window_end)"
)
_PAIRS = in_windows("", columns="L.window_start, L.window_end, L.window_time, L.k, v, w")
_NUMBERED = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY {}) AS n"
QUERIES = [
    # By intervals.
    *(near(kind, BETWEEN) for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    *(near(kind, f"{BETWEEN} AND v < w") for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    *(near(kind, "a.ts = b.ts") for kind in ("INNER", "FULL")),
    near("INNER", "a.ts > b.ts AND a.ts < b.ts + INTERVAL '10' SECOND"),
    near("INNER", "b.ts >= a.ts AND b.ts - INTERVAL '10' SECOND < a.ts"),
    near("LEFT", "a.ts >= b.ts + INTERVAL '2' SECOND AND a.ts <= b.ts + INTERVAL '9' SECOND"),
    near("FULL", "a.ts <= b.ts - INTERVAL '2' SECOND AND a.ts >= b.ts - INTERVAL '9' SECOND"),
    near("FULL", "a.ts BETWEEN b.ts + INTERVAL '4' SECOND AND b.ts - INTERVAL '4' SECOND"),
    near("INNER", "a.ts BETWEEN b.ts - INTERVAL '1' MONTH AND b.ts"),
    near("INNER", "CAST(a.ts AS TIMESTAMP(3)) BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts"),
    near("INNER", BETWEEN, other="strict"),
    near("INNER", BETWEEN, columns="a.ts, b.ts AS us, v"),
    f"SELECT v, w FROM a, b WHERE a.k = b.k AND {BETWEEN} AND v > 1",
    f"SELECT v, w FROM a JOIN b ON {BETWEEN}",
    f"SELECT v, w FROM a JOIN b ON UPPER(a.k) = UPPER(b.k) AND {BETWEEN}",
    "SELECT v, w FROM (SELECT v, w, a.ts, b.ts AS us FROM a, b WHERE a.k = b.k) WHERE ts >= us AND ts < us + "
    "INTERVAL '3' SECOND",
    f"SELECT window_start, window_end, COUNT(*), SUM(w) FROM TABLE(TUMBLE(({near('LEFT', BETWEEN, 'a.ts, w')}), "
    "DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
    f"SELECT v, SUM(w) OVER (PARTITION BY k ORDER BY ts) FROM ({near('INNER', BETWEEN, 'a.k, v, w, b.ts')})",
    f"SELECT x.v, x.w, b.w FROM ({near('INNER', BETWEEN, 'a.k, v, w, b.ts')}) AS x JOIN b ON x.k = b.k AND x.ts = b.ts",
    # Regular joins, whatever they say of times.
    near("LEFT", "a.ts > b.ts"),
    near("LEFT", f"{BETWEEN} AND a.ts > b.ts - INTERVAL '2' SECOND"),
    near("INNER", "a.ts = b.ts + INTERVAL '2' SECOND"),
    near("INNER", "HOUR(a.ts) = HOUR(b.ts)"),
    near("INNER", "a.ts = b.ts AND a.ts > b.ts - INTERVAL '2' SECOND"),
    near("INNER", "a.ts BETWEEN b.pt - INTERVAL '4' SECOND AND b.pt"),
    # By windows.
    *(in_windows(kind) for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    *(in_windows(kind, " AND L.k = R.k AND v < w") for kind in ("LEFT", "RIGHT", "FULL")),
    *(in_windows("INNER", function=each) for each in (HOP, CUMULATE)),
    in_windows("FULL", function=HOP),
    in_windows("LEFT", "", columns="v, w"),
    in_windows("INNER", " AND UPPER(L.k) = R.k"),
    in_windows("INNER", " AND L.k = R.k AND L.window_time = R.window_time"),
    f"SELECT L.k, s, c FROM {_SUMS} AS L LEFT JOIN {_COUNTS} AS R ON {SAME}",
    f"SELECT window_start, window_end, COUNT(*), SUM(v) FROM ({_PAIRS}) GROUP BY window_start, window_end",
    f"SELECT window_end, v, n FROM (SELECT *, {_NUMBERED.format('v DESC, w')} FROM ({_PAIRS})) WHERE n <= 2",
    f"SELECT x.k, x.v, x.w, c FROM ({_PAIRS}) AS x JOIN {_COUNTS} AS y ON x.window_start = y.window_start AND "
    "x.window_end = y.window_end",
    f"SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE((SELECT window_time AS wt FROM ({_PAIRS})), "
    "DESCRIPTOR(wt), INTERVAL '20' SECOND)) GROUP BY window_start, window_end",
    half("L.k IN (@)"),
    half("EXISTS (@ AND L.k = R.k AND v < w)"),
    half("NOT EXISTS (@ AND L.k = R.k)"),
    # Regular joins, whatever they say of windows.
    in_windows("LEFT", other=TUMBLE.replace("10", "20")),
    in_windows("LEFT").replace(" AND L.window_end = R.window_end", ""),
    in_windows("INNER").replace("TABLE b,", "TABLE instants,"),
    in_windows("INNER").replace("TABLE b,", "TABLE strict,"),
    # What is refused.
    near("INNER", BETWEEN, other="instants"),
    near("INNER", BETWEEN.replace("ts", "pt"), columns="v, w, a.ts"),
    in_windows("INNER", function=TUMBLE.replace("ts", "pt")),
    f"SELECT COUNT(*) FROM TABLE(TUMBLE(({near('INNER', 'a.ts > b.ts', 'a.ts')}), DESCRIPTOR(ts), "
    "INTERVAL '5' SECOND)) GROUP BY window_start, window_end",
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    rows = {
        name: [
            {column: f"2024-01-01 00:00:{value:02}" if column == "ts" else value for column, value in zip(columns, row)}
            for row in table_rows
        ]
        for name, (columns, table_rows) in TABLES.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment()
        for name, (columns, _) in TABLES.items():
            table_rows = rows[name]
            if name == "instants":
                table_rows = [{**row, "ts": f"{row['ts']}Z"} for row in table_rows]
            create_file_table(environment, name, columns, table_rows, Path(folder), TIMES)
        cases = [answered(environment, query) for query in QUERIES]
    recorded = {"rows": {"a": rows["a"], "b": rows["b"]}, "cases": cases}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    return 0


def answered(environment: Any, query: str) -> dict[str, Any]:
    """What the reference says to a query."""
    from pyflink.table import ExplainDetail  # type: ignore[import-not-found]

    print(query, file=sys.stderr, flush=True)
    try:
        plan = environment.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
        physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
        with environment.sql_query(query).execute().collect() as results:
            changes = sorted([SIGNS[row.get_row_kind().name], [str(each) for each in row]] for row in results)
    except Exception as error:
        lines = [line for line in rejection_of(error).splitlines() if "Exception: " in line]
        return {"query": query, "refused": lines[-1].split("Exception: ", 1)[1][:300]}
    return {"query": query, "changes": changes, "plan": physical.strip().splitlines()}


if __name__ == "__main__":
    sys.exit(main())
