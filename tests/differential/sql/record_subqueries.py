"""Record what the reference gives for queries within expressions, and for LATERAL, in streams, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_subqueries.py

Writes the file beside the tests of the operators: rows of two sides in the order of their coming, and queries with
their changes and plans. Rows come one in a second, because two inputs have no order between them but that of time.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from record_sets import CHANGES, chosen, planned
from reference_session import run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_subqueries.json"
# Columns of both sides: a is never NULL.
COLUMNS = "k, v, COALESCE(v, 0) AS a"
KINDS = "MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']"

CONDITIONS = [
    "k IN (SELECT k FROM r)",
    "v IN (SELECT a FROM r WHERE v > 1)",
    "k NOT IN (SELECT k FROM r)",
    "a NOT IN (SELECT a FROM r)",
    "v NOT IN (SELECT a FROM r)",
    "a NOT IN (SELECT v FROM r)",
    "(k, v) IN (SELECT k, v FROM r)",
    "(k, v) NOT IN (SELECT k, v FROM r)",
    "EXISTS (SELECT * FROM r WHERE r.v > 2)",
    "NOT EXISTS (SELECT * FROM r WHERE r.v > 2)",
    "EXISTS (SELECT * FROM r WHERE r.k = l.k)",
    "EXISTS (SELECT * FROM r WHERE r.k = l.k AND r.a >= l.a)",
    "EXISTS (SELECT 1 FROM r WHERE r.v > l.v)",
    "NOT EXISTS (SELECT * FROM r WHERE r.k = l.k)",
    "NOT EXISTS (SELECT * FROM r WHERE r.v = l.v AND r.k <> l.k)",
    "v IN (SELECT v FROM r WHERE r.k = l.k)",
    "v NOT IN (SELECT v FROM r WHERE r.k = l.k)",
    "k IN (SELECT k FROM r) AND v > 1",
    "k IN (SELECT k FROM r) AND v NOT IN (SELECT a FROM r WHERE v > 2)",
    "k IN (SELECT k FROM r) OR v > 2",
    "k NOT IN (SELECT k FROM r) OR v > 2",
    "a IN (SELECT a FROM r) OR v > 2",
    "NOT (k IN (SELECT k FROM r) OR v > 2)",
    "v > (SELECT MIN(v) FROM r)",
    "v >= (SELECT AVG(v) FROM r WHERE r.k = l.k)",
    "a > (SELECT COUNT(*) FROM r WHERE r.k = l.k)",
    "v = ANY (SELECT v FROM r)",
    "v > ANY (SELECT v FROM r)",
    "v >= ALL (SELECT v FROM r WHERE v IS NOT NULL)",
    "v <> ALL (SELECT v FROM r)",
    "v <> SOME (SELECT v FROM r)",
    "v IN (SELECT MAX(v) FROM r WHERE r.k = l.k)",
    "v IN (SELECT DISTINCT v FROM r)",
    "v IN (SELECT v FROM r UNION ALL SELECT a FROM r)",
    "v IN (SELECT v FROM r WHERE r.k IN (SELECT k FROM cl))",
    "v + 1 IN (SELECT v FROM r)",
    "EXISTS (SELECT a FROM r WHERE r.k = l.k GROUP BY a HAVING COUNT(*) > 1)",
    "1 NOT IN (SELECT v FROM r)",
    "EXISTS (SELECT COUNT(*) FROM r WHERE r.k = l.k)",
]
VALUES = [
    "v IN (SELECT v FROM r)",
    "v NOT IN (SELECT v FROM r)",
    "a IN (SELECT a FROM r)",
    "a IN (SELECT v FROM r)",
    "v IN (SELECT v FROM r WHERE r.k = l.k)",
    "EXISTS (SELECT v FROM r WHERE v > 2)",
    "EXISTS (SELECT v FROM r WHERE r.k = l.k)",
    "NOT EXISTS (SELECT v FROM r WHERE r.k = l.k)",
    "CASE WHEN v IN (SELECT v FROM r) THEN 1 ELSE 0 END",
    "(SELECT MAX(v) FROM r)",
    "(SELECT COUNT(*) FROM r)",
    "(SELECT MAX(v) FROM r WHERE r.k = l.k)",
    "(SELECT COUNT(*) FROM r WHERE r.k = l.k)",
    "(SELECT COUNT(*) + 1 FROM r WHERE r.k = l.k)",
    "COALESCE((SELECT MAX(v) FROM r WHERE r.k = l.k), 0)",
    "(SELECT MAX(v) FROM r) + (SELECT MIN(v) FROM r)",
    "(SELECT v FROM r WHERE v = 99)",
    "v > ANY (SELECT v FROM r)",
]
OTHERS = [
    "SELECT k, SUM(v) AS s FROM l GROUP BY k HAVING SUM(v) IN (SELECT v FROM r)",
    "SELECT k, SUM(v) AS s FROM l GROUP BY k HAVING SUM(v) > (SELECT MIN(v) FROM r)",
    "SELECT k, SUM(v) AS s FROM l GROUP BY k HAVING EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
    "SELECT k, SUM(v) AS s FROM l GROUP BY k HAVING k NOT IN (SELECT k FROM r)",
    "SELECT k, SUM(v) AS s, (SELECT MAX(v) FROM r WHERE r.k = l.k) AS m FROM l GROUP BY k",
    "SELECT COUNT(*) FROM l WHERE k IN (SELECT k FROM r)",
    "SELECT COUNT(*) FILTER (WHERE v IN (SELECT v FROM r)) FROM l",
    "SELECT l.k, x.m FROM l, LATERAL (SELECT MAX(v) AS m FROM r WHERE r.k = l.k) x",
    "SELECT l.k, x.m FROM l CROSS JOIN LATERAL (SELECT v AS m FROM r WHERE r.k = l.k) x",
    "SELECT l.k, x.m FROM l LEFT JOIN LATERAL (SELECT v AS m FROM r WHERE r.k = l.k) x ON TRUE",
    "SELECT l.k, x.m FROM l LEFT JOIN LATERAL (SELECT COUNT(*) AS m FROM r WHERE r.k = l.k) x ON TRUE",
    "SELECT l.k, x.m FROM l, LATERAL (SELECT a, SUM(v) AS m FROM r WHERE r.k = l.k GROUP BY a) x",
    "SELECT s.k, x.v FROM (SELECT DISTINCT k FROM l) s, "
    "LATERAL (SELECT v, a FROM l WHERE k = s.k ORDER BY v LIMIT 1) x",
]
# Both sides of a join read the same rows of the left side at the same time: only what is there in the end is certain.
RACES = [
    "SELECT k, v, (SELECT MAX(v) FROM r WHERE r.a > l.a) AS m FROM l",
    "SELECT l.k, x.m FROM l, LATERAL (SELECT v AS m FROM r WHERE r.k = l.k AND r.v > l.v) x",
    "SELECT l.k, x.m FROM l, LATERAL (SELECT l.a + r.v AS m FROM r WHERE r.k = l.k) x",
    "SELECT k, v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k OR r.v = l.v)",
    "SELECT k, v FROM l WHERE v IN (SELECT r.v - l.a + l.a FROM r WHERE r.k = l.k)",
]


def queries() -> list[str]:
    plain = [
        *(f"SELECT k, v FROM l WHERE {each}" for each in CONDITIONS),
        *(f"SELECT k, v, {each} AS m FROM l" for each in VALUES),
        *OTHERS,
    ]
    # Rows of both sides that are taken back again.
    changing = [*plain[:16], plain[19], plain[20], plain[25], *plain[39:44], plain[48], plain[51]]
    return [*plain, *(_of_changes(each) for each in changing), *RACES]


def _of_changes(query: str) -> str:
    return re.sub(r"\bFROM r\b", "FROM cr r", re.sub(r"\bFROM l\b", "FROM cl l", query))


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+") as printed:
        # The reference prints rows to the output that it was started with.
        os.dup2(printed.fileno(), 1)
        environment = table_environment()
        create_sides(environment)
        cases = [planned(environment, number, query) for number, query in enumerate(queries())]
        together = environment.create_statement_set()
        for number, query in enumerate(queries()):
            together.add_insert_sql(f"INSERT INTO s{number} {query}")
        # One source, so that all sides go on at the same pace.
        assert together.explain().split("Optimized Execution Plan")[1].count("TableSourceScan(") == 1
        together.execute().wait()
        lines = Path(printed.name).read_text().splitlines()
    for number, case in enumerate(cases):
        match = (re.fullmatch(rf"case {number}> (..)\[(.*)\]", line) for line in lines)
        case["changes"] = [[each[1], each[2].split(", ")] for each in match if each]
        case["is_race"] = case["query"] in RACES
        case["plan"] = [line for line in case["plan"] if not re.match("[ :+-]*Calc", line)]
    write(CHANGES, cases)
    return 0


def write(changes: list[Any], cases: list[dict[str, Any]]) -> None:
    """One line for each case."""
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    RECORDED.write_text(f'{{"changes": {json.dumps(changes)},\n"cases": [\n{lines}\n]}}\n')


def create_sides(environment: Any) -> None:
    """Tables of the left and the right side: those of inserts alone (l, r) and those of changes (cl, cr)."""
    last = len(CHANGES) - 1
    environment.execute_sql(f"""
        CREATE TABLE g (n INT) WITH (
            'connector' = 'datagen', 'rows-per-second' = '1', 'fields.n.kind' = 'sequence',
            'fields.n.start' = '0', 'fields.n.end' = '{last}'
        )
    """)
    names = ("side", "op", "k", "v")
    columns = [f"{chosen([each[index] for each in CHANGES])} AS {name}" for index, name in enumerate(names)]
    environment.execute_sql(f"CREATE TEMPORARY VIEW rows_of_both AS SELECT {', '.join(columns)} FROM g")
    for side in ("l", "r"):
        rows = f"FROM rows_of_both WHERE side = '{side}'"
        environment.execute_sql(f"CREATE TEMPORARY VIEW {side} AS SELECT {COLUMNS} {rows} AND op = '+I'")
        environment.execute_sql(f"CREATE TEMPORARY VIEW u{side} AS SELECT op, k, v {rows}")
        changes = f"FROM_CHANGELOG(TABLE u{side}, DESCRIPTOR(op), {KINDS})"
        environment.execute_sql(f"CREATE TEMPORARY VIEW c{side} AS SELECT {COLUMNS} FROM {changes}")


if __name__ == "__main__":
    sys.exit(main())
