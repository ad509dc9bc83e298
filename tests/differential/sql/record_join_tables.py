"""Record what joins of the Table API give in the reference: names of columns, plans, or what is said to mistakes.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_join_tables.py

Writes the file beside the tests of tables. An expression is Python text over the tables l, r, n and k of `tables_of`.
"""

# ruff: noqa: E501  (queries)
from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from reference_session import run_in_reference

RECORDED = Path(__file__).resolve().parents[2] / "unit" / "table" / "reference_joins.json"
TABLES = [
    "CREATE TABLE l (a INT, b STRING, c BIGINT) WITH ('connector' = 'datagen')",
    "CREATE TABLE r (d INT, e STRING, f DOUBLE) WITH ('connector' = 'datagen')",
    "CREATE TABLE n (a INT, x STRING) WITH ('connector' = 'datagen')",
    "CREATE TABLE k (g INT PRIMARY KEY NOT ENFORCED, h STRING) WITH ('connector' = 'datagen')",
    "CREATE TABLE appended (p INT, q STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/f', 'format' = 'csv')",
    "CREATE TABLE printed (p INT, q STRING) WITH ('connector' = 'print')",
    "CREATE TABLE keyed (p INT PRIMARY KEY NOT ENFORCED, q STRING) WITH ('connector' = 'print')",
]
JOINS = [
    "l.join(r, col('a') == col('d'))",
    "l.join(r).where(col('a') == col('d'))",
    "l.join(r)",
    "l.join(r, (col('a') == col('d')) & (col('b') != col('e')))",
    "l.join(r, col('a') == col('f'))",
    "l.join(r, l.a == r.d).select(l.a, r.e)",
    "l.join(r, col('a') > col('d'))",
    "l.join(r, (col('a') + 1) == col('d'))",
    "l.join(r, col('a').is_null)",
    "l.join(r, lit(True))",
    "l.join(r, col('a') == 1)",
    "l.left_outer_join(r, col('a') == col('d'))",
    "l.left_outer_join(r)",
    "l.left_outer_join(r, col('a') > col('d'))",
    "l.left_outer_join(r, col('a') == 1)",
    "l.left_outer_join(r, (col('a') == col('d')) & (col('c') > 2))",
    "l.right_outer_join(r, col('a') == col('d'))",
    "l.right_outer_join(r, col('a') < col('d'))",
    "l.full_outer_join(r, col('a') == col('d'))",
    "l.full_outer_join(r, (col('a') == col('d')) | (col('b') == col('e')))",
    "l.full_outer_join(r, lit(True))",
    "l.join(k, col('a') == col('g'))",
    "l.left_outer_join(k, col('a') == col('g')).select(col('g'), col('a'), col('h'))",
    "l.group_by(col('a')).select(col('a'), col('c').sum.alias('s')).join(r, col('a') == col('d'))",
    "l.join(r, col('a') == col('d')).group_by(col('e')).select(col('e'), col('c').sum.alias('s'))",
    "l.join(r, col('a') == col('d')).distinct()",
    "l.join(r, col('a') == col('d')).join(k, col('d') == col('g'))",
    "l.join(r.join(k, col('d') == col('g')), col('a') == col('g'))",
    "l.join(n.select(col('a').alias('y'), col('x')), col('a') == col('y'))",
    "l.join(n.alias('y', 'z'), col('a') == col('y')).rename_columns(col('z').alias('w'))",
    "l.join(r, col('a') == col('d')).drop_columns(col('d'))",
    "l.join(r, col('a') == col('d')).add_columns((col('c') + 1).alias('c1'))",
    "l.join(r, col('a') == col('d')).union_all(l.join(r, col('c') == col('d')))",
    "l.join(r, col('a') == col('d')).select(col('*'))",
    "l.join(n, l.a == n.a)",
    "l.join(n)",
    "l.join(l, col('a') == col('a'))",
    "l.join(l)",
    "l.join(l.alias('a1', 'b1', 'c1'), col('a') == col('a1'))",
    "l.left_outer_join(n, col('a') == col('x'))",
    "l.join(r, col('zz') == col('d'))",
    "l.join(r, col('a'))",
    "l.join(r, col('a') + col('d'))",
    "l.join(r, col('a') == col('e'))",
    "l.join(r, col('b') == col('f'))",
    "l.join(r, col('a').sum == col('d'))",
    "l.join(r, lit(1))",
    "l.left_outer_join(r, col('b'))",
    "l.full_outer_join(r, col('a'))",
    'l.join(r, "a = d")',
    'l.left_outer_join(r, "a = d && c > 1")',
    "l.join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('appended')",
    "l.left_outer_join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('appended')",
    "l.full_outer_join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('appended')",
    "l.left_outer_join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('printed')",
    "l.join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('keyed')",
    "l.left_outer_join(r, col('a') == col('d')).select(col('a'), col('e')).insert_into('keyed')",
    "k.left_outer_join(l.group_by(col('a')).select(col('a'), col('b').max.alias('b')), col('a') == col('g')).select(col('g'), col('b')).insert_into('keyed')",
    "k.join(l.group_by(col('a')).select(col('a'), col('b').max.alias('b')), col('a') == col('g')).select(col('g'), col('b')).insert_into('keyed')",
    "k.join(l, col('a') == col('g')).select(col('g'), col('b')).insert_into('keyed')",
]


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]
    from pyflink.table.expressions import col, lit  # type: ignore[import-not-found]

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    names = {"col": col, "lit": lit, **tables_of(environment)}
    cases = [{"join": each, **outcome(each, names)} for each in JOINS]
    RECORDED.write_text(json.dumps({"tables": TABLES, "cases": cases}, indent=1, ensure_ascii=False) + "\n")
    return 0


def tables_of(environment: Any) -> dict[str, Any]:
    """The tables that expressions may name."""
    for each in TABLES:
        environment.execute_sql(each)
    return {name: environment.from_path(name) for name in ("l", "r", "n", "k")}


def outcome(expression: str, names: dict[str, Any]) -> dict[str, Any]:
    try:
        result = eval(expression, dict(names))
        plan = result.explain()
    except Exception as error:
        return {"said": first_line(error)}
    joins = re.findall(r"\bJoin\(.*", plan.split("== Optimized Physical Plan ==")[1].split("\n== ")[0])
    if not hasattr(result, "get_resolved_schema"):
        return {"joins": joins}
    return {"columns": list(result.get_schema().get_field_names()), "joins": joins}


def first_line(error: Exception) -> str:
    """The first line of what is said, without the class of the error."""
    first, _, rest = str(error).partition("\n")
    text = rest if first.startswith("An error occurred while calling") else first
    return re.sub(r"^(: )?[\w.$]+(Exception|Error): ?", "", text).splitlines()[0].strip()


if __name__ == "__main__":
    sys.exit(main())
