"""Record what the reference gives for INTERSECT and EXCEPT in streams, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_sets.py

Writes the file beside the tests of the operators: rows of two sides in the order of their coming, and queries with
their changes and plans. Rows come one in a second, because two inputs have no order between them but that of time.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reference_session import run_in_reference, table_environment

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "sql" / "operators" / "reference_sets.json"
# The side that a change belongs to, what it is, and its values.
CHANGES: list[tuple[str, str, str | None, int | None]] = [
    ("l", "+I", "a", 1),
    ("r", "+I", "a", 1),
    ("l", "+I", "a", 1),
    ("r", "+I", "a", 1),
    ("r", "+I", "b", 1),
    ("r", "-D", "a", 1),
    ("l", "+I", "b", 1),
    ("l", "+I", None, 2),
    ("r", "-U", "a", 1),
    ("r", "+U", "c", 3),
    ("l", "+I", "c", 3),
    ("r", "+I", None, 2),
    ("l", "-D", "a", 1),
    ("r", "+I", "a", 1),
    ("l", "+I", "d", None),
    ("l", "+I", "d", None),
    ("r", "-D", "b", 1),
    ("l", "-U", "c", 3),
    ("l", "+U", "d", None),
    ("r", "+I", "d", None),
    ("r", "-U", "d", None),
    ("r", "+U", "a", 1),
    ("l", "-D", "a", 1),
    ("r", "+I", "c", 3),
    ("l", "+I", "c", 3),
    ("r", "-D", None, 2),
]
_LAST = "SELECT k, LAST_VALUE(v) AS v FROM {} GROUP BY k"
_COUNTS = "SELECT v, COUNT(*) AS c FROM {} GROUP BY v"
SIDES = [
    ("SELECT k, v FROM l", "SELECT k, v FROM r"),
    ("SELECT k FROM l", "SELECT k FROM r"),
    ("SELECT k, v FROM cl", "SELECT k, v FROM cr"),
    ("SELECT v FROM cl", "SELECT v FROM cr"),
    ("SELECT k, v FROM cl", "SELECT k, v FROM r"),
    ("SELECT k, v FROM l", "SELECT k, v FROM cr"),
    ("SELECT DISTINCT k FROM l", "SELECT DISTINCT k FROM cr"),
    (_LAST.format("l"), _LAST.format("r")),
    (_COUNTS.format("cl"), _COUNTS.format("cr")),
    (_COUNTS.format("cl"), "SELECT v, CAST(2 AS BIGINT) FROM r"),
]
QUERIES = [
    *(f"{left} {operation} {right}" for left, right in SIDES for operation in ("INTERSECT", "EXCEPT")),
    *(f"{left} {operation} ALL {right}" for left, right in SIDES[:5] for operation in ("INTERSECT", "EXCEPT")),
    "SELECT COUNT(*) FROM (SELECT k, v FROM cl EXCEPT SELECT k, v FROM cr)",
    "SELECT COUNT(*) FROM (SELECT k, v FROM cl INTERSECT ALL SELECT k, v FROM cr)",
    "SELECT k FROM (SELECT k, v FROM l EXCEPT SELECT k, v FROM r) WHERE v > 1",
    "SELECT k, v FROM l EXCEPT SELECT k, v FROM r WHERE v > 1 INTERSECT SELECT k, v FROM r WHERE v < 3",
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+") as printed:
        # The reference prints rows to the output that it was started with.
        os.dup2(printed.fileno(), 1)
        environment = table_environment()
        create_sides(environment)
        cases = [planned(environment, number, query) for number, query in enumerate(QUERIES)]
        together = environment.create_statement_set()
        for number, query in enumerate(QUERIES):
            together.add_insert_sql(f"INSERT INTO s{number} {query}")
        # One source, so that all sides go on at the same pace.
        assert together.explain().split("Optimized Execution Plan")[1].count("TableSourceScan(") == 1
        together.execute().wait()
        lines = Path(printed.name).read_text().splitlines()
    for number, case in enumerate(cases):
        match = (re.fullmatch(rf"case {number}> (..)\[(.*)\]", line) for line in lines)
        case["changes"] = [[each[1], each[2].split(", ")] for each in match if each]
    RECORDED.write_text(json.dumps({"changes": CHANGES, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
    return 0


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
        environment.execute_sql(f"CREATE TEMPORARY VIEW {side} AS SELECT k, v {rows} AND op = '+I'")
        environment.execute_sql(f"CREATE TEMPORARY VIEW u{side} AS SELECT op, k, v {rows}")
        kinds = "MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']"
        changes = f"FROM_CHANGELOG(TABLE u{side}, DESCRIPTOR(op), {kinds})"
        environment.execute_sql(f"CREATE TEMPORARY VIEW c{side} AS SELECT * FROM {changes}")


def chosen(values: Sequence[Any]) -> str:
    """The value of each row by its number."""
    kind = "INT" if any(isinstance(each, int) for each in values) else "STRING"
    strings = ("NULL" if each is None else f"'{each}'" if kind == "STRING" else str(each) for each in values)
    cases = " ".join(f"WHEN {number} THEN {text}" for number, text in enumerate(strings))
    return f"CAST(CASE n {cases} END AS {kind})"


def planned(environment: Any, number: int, query: str) -> dict[str, Any]:
    """The plan of a query, for which a table is made."""
    from pyflink.table import ExplainDetail  # type: ignore[import-not-found]

    connector = f"'connector' = 'print', 'print-identifier' = 'case {number}'"
    environment.execute_sql(f"CREATE TABLE s{number} ({column_strings(environment, query)}) WITH ({connector})")
    plan = environment.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
    physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
    # What makes the rows is no part of the case.
    return {"query": query, "plan": [line for line in physical.strip().splitlines() if "CASE(" not in line]}


def column_strings(environment: Any, query: str) -> str:
    """The columns of a query's table."""
    result = environment.sql_query(query)._j_table.getResolvedSchema().getColumns()
    return ", ".join(f"`{each.getName()}` {each.getDataType().toString().replace(' NOT NULL', '')}" for each in result)


if __name__ == "__main__":
    sys.exit(main())
