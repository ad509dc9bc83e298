"""Random joins give on Funke what they gave on the reference: names, types, and the changes that each row brings.

`sql/record_joins.py` and `sql/record_multi_joins.py` have recorded them. A sample runs by
default; JOIN_QUERIES=all runs all of them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.connectors.external_text import external_text
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import EnvironmentSettings, TableEnvironment
from tests.differential.sql.random_joins import COLUMNS, SEEDS, views
from tests.differential.sql.recorded_form import GOLDEN, read_lines
from tests.harness.sql_plans import RunningPlan

# Queries that the reference answers otherwise, and why.
KNOWN = {
    r"^SELECT (id|k|v) AS x,.* USING \(": "Flink's parser does not find a column of USING that gets another name",
    r"\b(FALSE|1 = 2|CAST\(NULL AS STRING\))": "Flink leaves out joins without rows: updates stay updates",
    r"(\w+\.v) = (\w+\.v) AND NOT \(\1 = \2\)|= (\w\.v) AND \3 IS NULL": "conditions that exclude each other",
    r"(\w+\.k) = (\w+\.k) AND \1 <> \2|(\w+\.k) = (\w+\.k) AND \4 <> \3": "conditions that exclude each other",
}
SAMPLE = 1 if os.environ.get("JOIN_QUERIES") == "all" else 5
RECORDED = [seed for seed in SEEDS if (GOLDEN / f"sql_joins_{seed}.jsonl.gz").exists()]


@cache
def environment() -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    columns = ", ".join(f"{name} {each}" for name, each in {"side": "STRING", "op": "STRING", **COLUMNS}.items())
    key = "pt AS PROCTIME(), PRIMARY KEY (n) NOT ENFORCED"
    tables.execute_sql(f"CREATE TABLE g (n INT, {columns}, {key}) WITH ('connector' = 'datagen')")
    for each in views():
        tables.execute_sql(each)
    return tables


def recorded(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return read_golden(f"sql_joins_{seed}.jsonl.gz")


def read_golden(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of a golden file, and its queries."""
    first, *entries = read_lines(name)
    return [{**row, "p": None if row["p"] is None else Decimal(row["p"])} for row in first["rows"]], entries


def outcome(entry: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What comes out, in the form of the recording; changes by the rows that bring them."""
    try:
        table = environment().sql_query(entry["query"])
        relation = planned_rows(environment()._session, table._relation)
    except FunkeError as error:
        return {"x": "refused", "why": str(error)}
    clock, used = ManualClock(), sides_of(entry["query"])
    plan = RunningPlan(relation, clock)
    types = [each.type for each in relation.columns]
    changes: list[list[str]] = []
    for row in rows:
        # The first row starts constants; those of sides that are not read bring nothing.
        if row["side"] in used or row["n"] == 0:
            clock.set(row["n"] * 1000)
            changes.append([f"{sign} {row_text(values, types)}" for sign, values in plan.feed(row)])
    columns = [[each.name, to_sql_text(each.type)] for each in table._relation.columns]
    return {"columns": columns, "changes": changes}


def row_text(values: tuple[Any, ...], types: list[DataType]) -> str:
    return ", ".join("null" if each is None else external_text(own)(each) for each, own in zip(values, types))


def sides_of(query: str) -> set[str]:
    """The sides whose tables a query reads."""
    return set(re.findall(r"(?:FROM|JOIN|,) \(*[kcud]?([lrm])\b", query))


def folded(changes: list[str]) -> list[str]:
    """The rows that are there in the end."""
    rows: Counter[str] = Counter()
    for change in changes:
        rows[change[3:]] += 1 if change[0] == "+" else -1
    return sorted((+rows).elements())


def is_same(entry: dict[str, Any], changes: list[list[str]]) -> bool:
    expected = entry["changes"]
    # The reference ranks what Funke deduplicates there: an equal row is an update of the last one.
    if entry["order"] == "folded" or re.search(r"\bd[lrm]\b", entry["query"]):
        return folded(expected) == folded([each for some in changes for each in some])
    if sum(map(len, changes)) != len(expected):
        return False
    begin = 0
    for some in changes:
        # The rows of a key come in the order of a hash there.
        if sorted(expected[begin : begin + len(some)]) != sorted(some):
            return False
        begin += len(some)
    return True


def difference(entry: dict[str, Any], rows: list[dict[str, Any]]) -> str | None:
    if any(re.search(each, entry["query"]) for each in KNOWN):
        return None
    actual = outcome(entry, rows)
    if "x" in entry or "x" in actual:
        is_alike = entry.get("x") == actual.get("x")
    else:
        is_alike = actual["columns"] == entry["columns"] and is_same(entry, actual["changes"])
    if is_alike:
        return None
    expected = {name: entry[name] for name in ("x", "why", "columns", "changes") if name in entry}
    return f"{entry['query']}\n  wanted {expected}\n  found  {actual}"


@pytest.mark.parametrize("seed", RECORDED)
def test_joins_are_those_of_the_reference(seed: int) -> None:
    rows, entries = recorded(seed)
    different = [result for each in entries[::SAMPLE] if (result := difference(each, rows)) is not None]
    assert not different, "\n".join(different)


def test_chains_as_one_operator_are_those_of_the_reference() -> None:
    option = "table.optimizer.multi-join.enabled"
    rows, entries = read_golden("sql_multi_joins.jsonl.gz")
    assert len(entries) > 150 and all(any("MultiJoin(" in line for line in each["plan"]) for each in entries)
    environment().get_config().set(option, "true")
    try:
        different = [result for each in entries[::SAMPLE] if (result := difference(each, rows)) is not None]
    finally:
        environment().get_config().set(option, "false")
    assert not different, "\n".join(different)


def test_there_are_many() -> None:
    assert sum(len(recorded(seed)[1]) for seed in RECORDED) > 1000
