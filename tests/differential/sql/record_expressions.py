"""Record what the reference gives for random expressions over a table of nasty values.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_expressions.py

Each line of the golden file is an expression (`e`) with its type (`t`) and its values (`v`), one for each row; or with
`x`: "refused" if it has no meaning, "fails" if it raises for some row. What PyFlink cannot collect is cast to STRING.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from nasty_values import COLUMNS, COMPUTED, json_rows
from random_expressions import random_expressions
from recorded_form import plain, write_lines
from reference_session import create_file_table, rejection_of, run_in_reference, table_environment, types_of

SEEDS, ROUNDS = (11, 78, 131), 9
TOGETHER = 48
# An expression that fails spoils the query that it is in, so templates that have failed go alone, and not for ever.
ENOUGH_FAILURES = 3
# Types whose values PyFlink cannot collect, or changes while it does.
UNCOLLECTABLE = re.compile(r"LTZ|INTERVAL|MULTISET|TIMESTAMP\([789]\)|TIME\([1-9]\)|^TIME")


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    with tempfile.TemporaryDirectory() as folder:
        environment = table_environment()
        create_file_table(environment, "t0", {k: v for k, (v, _) in COLUMNS.items()}, json_rows(), Path(folder))
        computed = "".join(f", {text} AS {name}" for name, (_, text) in COMPUTED.items())
        environment.execute_sql(f"CREATE TEMPORARY VIEW t AS SELECT *{computed} FROM t0")
        entries: list[dict[str, Any]] = []
        for seed in SEEDS:
            recorded = {each["e"] for each in entries}
            expressions = random_expressions(seed, ROUNDS)
            record_all(environment, {k: v for k, v in expressions.items() if k not in recorded}, entries)
    return 0


def record_all(environment: Any, expressions: dict[str, str], entries: list[dict[str, Any]]) -> None:
    waiting: list[dict[str, Any]] = []
    failures: Counter[str] = Counter()
    for expression, template in expressions.items():
        if failures[template] >= ENOUGH_FAILURES:
            continue
        entry = checked(environment, expression)
        entries.append(entry)
        if "x" in entry:
            continue
        if failures[template]:
            evaluate(environment, [entry])
            failures[template] += entry.get("x") == "fails"
            continue
        waiting.append(entry | {"template": template, "entry": entry})
        if len(waiting) == TOGETHER:
            evaluate_waiting(environment, waiting, failures)
            write(entries)
    evaluate_waiting(environment, waiting, failures)
    write(entries)


def evaluate_waiting(environment: Any, waiting: list[dict[str, Any]], failures: Counter[str]) -> None:
    evaluate(environment, [each["entry"] for each in waiting])
    failures.update(each["template"] for each in waiting if each["entry"].get("x") == "fails")
    waiting.clear()


def write(entries: list[dict[str, Any]]) -> None:
    kept = [each for each in entries if "v" in each or each.get("x") in ("refused", "fails")]
    write_lines("sql_expressions.jsonl.gz", kept)
    kinds = Counter(each.get("x", "values") for each in entries)
    print(dict(kinds), file=sys.stderr, flush=True)


def checked(environment: Any, expression: str) -> dict[str, Any]:
    """Whether it has a meaning, and its type; what cannot be collected is evaluated as a text."""
    try:
        (data_type,) = types_of(environment.sql_query(f"SELECT {expression} FROM t"))
    except Exception as error:
        return {"e": expression, "x": "refused", "why": rejection_of(error)[-300:]}
    if UNCOLLECTABLE.search(data_type):
        return {"e": f"CAST({expression} AS STRING)", "of": data_type}
    return {"e": expression, "t": data_type}


def evaluate(environment: Any, entries: list[dict[str, Any]]) -> None:
    """All in one query; in halves if one of them fails."""
    query = f"SELECT {', '.join(each['e'] for each in entries)} FROM t"
    try:
        with environment.sql_query(query).execute().collect() as results:
            rows = [list(row) for row in results]
    except Exception as error:
        if len(entries) > 1:
            middle = len(entries) // 2
            evaluate(environment, entries[:middle])
            evaluate(environment, entries[middle:])
        else:
            is_failure = "java" in str(error) and "PythonBridgeUtils" not in str(error)
            entries[0]["x"] = "fails" if is_failure else "unreadable"
            causes = re.findall(r"Caused by: (.*)", str(error))
            entries[0]["why"] = (causes[-1] if causes else str(error))[:200]
        return
    for index, entry in enumerate(entries):
        entry["v"] = [plain(row[index]) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
