"""Record what the reference gives for random joins, change by change.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_joins.py [seed …]
    … record_joins.py again seed file-of-queries

There is a golden file for every seed. Its first line has the rows, the others are queries with the names and the types
of their columns, the nodes of their plan (for some seeds), and their changes as the connector print writes them; or
with `x`: "refused" if a query has no meaning, "fails" if it raises. Many queries are one job with one source, whose
rows come a few in a second: two inputs have no order between them but that of time.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from random_joins import COLUMNS, SEEDS, random_joins, random_rows, views
from recorded_form import GOLDEN, read_lines, write_lines
from reference_session import rejection_of, run_in_reference, table_environment

AT_ONCE = 60
# The seeds whose queries have their plans in the golden files.
WITH_PLANS = (6,)
ROWS_PER_SECOND = "2"


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "printed").open("w+") as printed:
        # The reference prints rows to the output that it was started with.
        os.dup2(printed.fileno(), 1)
        if sys.argv[1:2] == ["again"]:
            queries = Path(sys.argv[3]).read_text().splitlines()
            record_again(f"sql_joins_{sys.argv[2]}.jsonl.gz", queries, Path(printed.name))
            return 0
        for seed in map(int, sys.argv[1:]) if sys.argv[1:] else SEEDS:
            record(seed, Path(printed.name))
    return 0


def record_again(
    name: str, queries: Sequence[str], printed: Path, settings: Mapping[str, str] | None = None, has_plan: bool = False
) -> None:
    """Record some queries anew, with a row in a second: on a busy machine rows have overtaken others."""
    first, *entries = read_lines(name)
    chosen = [each for each in entries if each["query"] in queries]
    answered(first["rows"], chosen, printed, has_plan, rows_per_second="1", settings=settings)
    write_lines(name, [first, *entries])


def record(seed: int, printed: Path) -> None:
    rows = random_rows(seed)
    entries: list[dict[str, Any]] = list(random_joins(seed, SEEDS[seed]))
    recorded = read_lines(f"sql_joins_{seed}.jsonl.gz")[1:] if (GOLDEN / f"sql_joins_{seed}.jsonl.gz").exists() else []
    if [each["query"] for each in recorded] == [each["query"] for each in entries[: len(recorded)]]:
        # A recording goes on where another one has ended.
        entries[: len(recorded)] = recorded
    else:
        recorded = []
    for start in range(len(recorded), len(entries), AT_ONCE):
        begin = time.time()
        answered(rows, entries[start : start + AT_ONCE], printed, seed in WITH_PLANS)
        print(seed, start, f"{time.time() - begin:.0f} s", file=sys.stderr, flush=True)
        write_lines(f"sql_joins_{seed}.jsonl.gz", [{"rows": rows}, *entries[: start + AT_ONCE]])


def answered(
    rows: Sequence[dict[str, Any]],
    entries: Sequence[dict[str, Any]],
    printed: Path,
    has_plan: bool,
    rows_per_second: str = ROWS_PER_SECOND,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Put what the reference gives into the entries."""
    environment = environment_of(rows, rows_per_second)
    for key, value in (settings or {}).items():
        environment.get_config().set(key, value)
    for number, entry in enumerate(entries):
        planned(environment, number, entry, has_plan)
    run(environment, [(number, each) for number, each in enumerate(entries) if "x" not in each], printed)


def environment_of(rows: Sequence[dict[str, Any]], rows_per_second: str) -> Any:
    environment = table_environment()
    environment.get_config().set("execution.buffer-timeout.interval", "0 ms")
    options = {
        "connector": "datagen",
        "rows-per-second": rows_per_second,
        "fields.n.kind": "sequence",
        "fields.n.start": "0",
        "fields.n.end": str(len(rows) - 1),
    }
    written = ", ".join(f"'{key}' = '{each}'" for key, each in options.items())
    columns = "n INT, pt AS PROCTIME(), PRIMARY KEY (n) NOT ENFORCED"
    environment.execute_sql(f"CREATE TABLE numbers ({columns}) WITH ({written})")
    types = {"side": "STRING", "op": "STRING", **COLUMNS}
    chosen = ", ".join(f"{listed([row[name] for row in rows], each)} AS {name}" for name, each in types.items())
    environment.execute_sql(f"CREATE TEMPORARY VIEW g AS SELECT n, pt, {chosen} FROM numbers")
    for each in views():
        environment.execute_sql(each)
    return environment


def listed(values: Sequence[Any], data_type: str) -> str:
    """The value of each row by its number, as an expression."""
    text = "|".join("" if each is None else str(each) for each in values)
    return f"CAST(NULLIF(SPLIT_INDEX('{text}', '|', n), '') AS {data_type})"


def planned(environment: Any, number: int, entry: dict[str, Any], has_plan: bool) -> None:
    """Names and types of a query, for which a table is made, and its plan."""
    try:
        table = environment.sql_query(entry["query"])
        columns = table._j_table.getResolvedSchema().getColumns()
        entry["columns"] = [[each.getName(), each.getDataType().toString()] for each in columns]
        plan = environment.explain_sql(entry["query"]) if has_plan else ""
    except Exception as error:
        entry.update(x="refused", why=rejection_of(error)[:600])
        return
    if has_plan:
        physical = plan.split("== Optimized Physical Plan ==\n")[1].split("\n== ")[0]
        entry["plan"] = list(map(shortened, physical.strip().splitlines()))
    schema = ", ".join(f"`{name}` {each.replace(' NOT NULL', '')}" for name, each in entry["columns"])
    connector = f"'connector' = 'print', 'print-identifier' = 'case {number}'"
    environment.execute_sql(f"CREATE TABLE s{number} ({schema}) WITH ({connector})")


def shortened(line: str) -> str:
    """A node with its attributes, but for what makes the rows of the tables."""
    is_source = any(each in line for each in ("SPLIT_INDEX", "TableSourceScan", "ProcessTableFunction"))
    return re.sub(r"\(.*", "", line) if is_source else line


def run(environment: Any, entries: Sequence[tuple[int, dict[str, Any]]], printed: Path) -> None:
    """All queries as one job; if it fails each half of them is one."""
    before = printed.stat().st_size
    together = environment.create_statement_set()
    for number, entry in entries:
        together.add_insert_sql(f"INSERT INTO s{number} {entry['query']}")
    try:
        together.execute().wait()
    except Exception as error:
        if len(entries) == 1:
            entries[0][1].update(x="fails", why=rejection_of(error)[-300:])
            return
        print(len(entries), rejection_of(error)[-300:], file=sys.stderr, flush=True)
        middle = len(entries) // 2
        run(environment, entries[:middle], printed)
        run(environment, entries[middle:], printed)
        return
    with printed.open() as file:
        file.seek(before)
        lines = file.read().splitlines()
    by_number = {number: entry for number, entry in entries}
    for entry in by_number.values():
        entry["changes"] = []
    for line in lines:
        match = re.fullmatch(r"case (\d+)> (..)\[(.*)\]", line)
        if match is not None:
            by_number[int(match[1])]["changes"].append(f"{match[2]} {match[3]}")


if __name__ == "__main__":
    sys.exit(main())
