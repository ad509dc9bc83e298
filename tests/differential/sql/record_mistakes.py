"""Record what the reference says to statements that it refuses.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_mistakes.py [file …]

Writes the files beside the tests of the binder: the statements of mistakes.sql and of join_mistakes.sql with the first
line of what is said; null where the reference finds no mistake.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from reference_session import run_in_reference

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parents[1] / "unit" / "sql" / "binding"
# Statements, the file that they are recorded in, and the tables that they have beside t and s.
FILES = {"mistakes.sql": "reference_mistakes.json", "join_mistakes.sql": "reference_join_mistakes.json"}
MORE = {
    "join_mistakes.sql": [
        """CREATE TABLE u (id BIGINT, name STRING, other INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen')""",
        "CREATE TABLE k (id INT PRIMARY KEY NOT ENFORCED, name STRING) WITH ('connector' = 'print')",
        "CREATE TABLE f (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = '/tmp/f', 'format' = 'csv')",
    ]
}
TABLES = [
    """CREATE TABLE t (
        id INT, name STRING, flag BOOLEAN, ts TIMESTAMP(3), arr ARRAY<INT>, m MAP<STRING, INT>, r ROW<a INT>,
        WATERMARK FOR ts AS ts
    ) WITH ('connector' = 'datagen')""",
    "CREATE TABLE s (id INT, name STRING) WITH ('connector' = 'print')",
]
_EXPLAINED = ("SELECT", "VALUES", "FROM", "INSERT")


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    for name in sys.argv[1:] or FILES:
        environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        tables = [*TABLES, *MORE.get(name, ())]
        for each in tables:
            environment.execute_sql(each)
        said = {each: rejection(environment, each) for each in statements(name)}
        text = json.dumps({"tables": tables, "said": said}, indent=1, ensure_ascii=False)
        (RECORDED / FILES[name]).write_text(text + "\n")
    return 0


def statements(name: str) -> list[str]:
    return (HERE / name).read_text().splitlines()[1:]


def rejection(environment: Any, statement: str) -> str | None:
    """The first line of a refusal, without the class of the error."""
    try:
        (environment.explain_sql if statement.startswith(_EXPLAINED) else environment.execute_sql)(statement)
    except Exception as error:
        first, _, rest = str(error).partition("\n")
        text = rest if first.startswith("An error occurred while calling") else first
        return re.sub(r"^(: )?[\w.$]+(Exception|Error): ?", "", text).splitlines()[0].strip()
    return None


if __name__ == "__main__":
    sys.exit(main())
