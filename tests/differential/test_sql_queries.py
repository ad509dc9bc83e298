"""Random queries give on Funke what they gave on the reference, change by change.

`sql/record_queries.py` has recorded them over the tables that are in the golden files too.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Column, Constants, Scan, with_inputs
from funke.engine.sql.spark_plans import spark_frames
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.plan_choice import PlanChoice
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text
from tests.differential.sql.random_queries import COLUMNS, FAMILIES, LATEST, SEEDS
from tests.differential.sql.recorded_form import plain, read_lines
from tests.harness.local_frames import LocalSpark
from tests.harness.local_jobs import rows_of
from tests.harness.sql_plans import SmallTable, changes_from, planned

# Families whose changes come in one order, whoever computes them. Others are compared by what is there at the end.
IN_ORDER = ("changes", "changing input", "grouping sets", "two levels", "select")


def table(rows: list[dict[str, Any]]) -> SmallTable:
    columns = [
        Column(name, from_sql_text(each), TimeAttribute.ROWTIME if name == "ts" else None)
        for name, each in COLUMNS.items()
    ]
    return SmallTable(columns, [tuple(python_value(name, each) for name, each in row.items()) for row in rows])


def python_value(name: str, value: Any) -> Any:
    if value is None or name not in ("p", "ts"):
        return value
    return Decimal(value) if name == "p" else datetime.datetime.fromisoformat(value)


def says_nothing(entry: dict[str, Any]) -> bool:
    """What the reference cannot compute, or batches whose rows come in no order, say nothing."""
    is_unordered = entry["family"] == "batch" and re.search("(FIRST|LAST)_VALUE|LISTAGG|\\w+_?AGG", entry["query"])
    # There it puts texts into JSON without quotes.
    is_no_json = entry["family"] == "group window" and "JSON_" in entry["query"]
    return entry.get("x") in ("fails", "unreadable") or bool(is_unordered) or is_no_json


def recorded(seed: int) -> list[dict[str, Any]]:
    """The queries of a golden file that say something, each with its tables."""
    first, *entries = read_lines(f"sql_queries_{seed}.jsonl.gz")
    tables = {name: table(rows) for name, rows in first["tables"].items()}
    return [each | {"tables": tables} for each in entries if not says_nothing(each)]


RECORDED = [each for seed in SEEDS for each in recorded(seed)]
# Queries that the reference answers otherwise, and why.
KNOWN = {
    r"SELECT (id|k), COUNT.* INTERSECT ALL": "the reference forgets columns that nobody reads, though it compares them",
    r"VAR_POP\(p\).*LATEST": "after a row is taken back the reference's variance of one decimal is NULL",
}


def outcome(entry: dict[str, Any], size: int) -> dict[str, Any]:
    """What comes out, in the form of the recording."""
    try:
        relation = planned(entry["query"], entry["tables"], is_streaming=entry["family"] != "batch")
    except FunkeError as error:
        return {"x": "refused", "why": str(error)}
    entry_result: dict[str, Any] = {"types": [to_sql_text(each.type) for each in relation.columns]}
    try:
        changes = changes_from(relation, size)
    except (FunkeError, ArithmeticError, ValueError) as error:
        return entry_result | {"x": "fails", "why": str(error)}
    return entry_result | {"changes": [[sign, [plain(each) for each in row]] for sign, row in changes]}


def comparable(entry: dict[str, Any], changes: list[Any]) -> list[Any]:
    if entry["family"] in IN_ORDER or "ORDER BY" in entry["query"].partition("WINDOW")[0]:
        return changes
    rows: list[Any] = []
    for sign, row in changes:
        if sign[0] == "+":
            rows.append(row)
        else:
            rows.remove(row)
    return sorted(rows, key=repr)


def is_known(entry: dict[str, Any]) -> bool:
    return any(re.search(each, entry["query"].replace(LATEST, "LATEST")) for each in KNOWN)


def difference(entry: dict[str, Any], size: int) -> str | None:
    if is_known(entry):
        return None
    actual = outcome(entry, size)
    expected = {name: entry[name] for name in ("x", "types", "changes") if name in entry}
    if "changes" in expected and "changes" in actual:
        expected["changes"] = comparable(entry, expected["changes"])
        actual["changes"] = comparable(entry, actual["changes"])
    compared = {name: actual.get(name) for name in expected}
    return None if compared == expected else f"{entry['query']}\n  wanted {expected}\n  found  {actual}"


@pytest.mark.parametrize("family", FAMILIES)
def test_changes_are_those_of_the_reference(family: str) -> None:
    entries = [each for each in RECORDED if each["family"] == family]
    # Rows come a few at a time, or all at once: it makes no difference.
    sizes = itertools.cycle([3, 3, 1000])
    different = [result for each in entries if (result := difference(each, next(sizes))) is not None]
    assert not different, "\n".join(different)


def with_constants(relation: Any) -> Any:
    """The same query, whose tables are rows that stand in it."""
    if not isinstance(relation, Scan):
        return with_inputs(relation, with_constants)
    names = [each.name for each in relation.table.columns]
    indexes = [names.index(each.name) for each in relation.columns]
    return Constants(relation.columns, tuple(tuple(row[index] for index in indexes) for row in relation.table.rows))


def batch_rows(query: str, tables: dict[str, SmallTable]) -> list[Any]:
    """What batch mode gives: by Spark's plan, if it has one."""
    relation = planned(query, tables, is_streaming=False)
    batch_relation = with_constants(relation)
    if PlanChoice().unsupported_reason(batch_relation) is not None or "SESSION(" in query:
        rows = [row for _, row in changes_from(relation, 3)]
    else:
        spark: Any = LocalSpark()
        frame: Any = spark_frames.frame_of(spark, batch_relation, PlanSettings(2))
        batches = (from_carried(each, batch_relation.columns) for each in frame.table.to_batches())
        rows = [row for batch in batches for row in rows_of(batch, batch_relation)]
    return [[plain(each) for each in row] for row in rows]


def is_alike(one: Any, other: Any) -> bool:
    """Fractions may have been added in another order, and taken back; lists and texts made of rows as they came."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict) and "float" in one and "float" in other:
        return math.isclose(float(one["float"]), float(other["float"]), rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def without_order(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(without_order, value), key=repr)
    return "".join(sorted(value)) if isinstance(value, str) else value


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "batch"])
def test_batches_give_the_last_state_of_streams(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_frames, "has_twin", lambda aggregate: False)
    monkeypatch.setattr(spark_frames, "expression_twin", lambda *arguments: None)
    different = []
    for entry in RECORDED:
        if entry["family"] == family and "changes" in entry and not is_known(entry):
            expected = comparable({**entry, "family": ""}, entry["changes"])
            results = sorted(batch_rows(entry["query"], entry["tables"]), key=repr)
            if re.search("LISTAGG|\\w+_?AGG", entry["query"]):
                expected, results = without_order(expected), without_order(results)
            # Without any row a stream has said nothing of a result over all rows.
            is_untold = not expected and len(results) == 1 and "GROUP BY" not in entry["query"].replace(LATEST, "")
            if not is_untold and not is_alike(expected, results):
                different.append(f"{entry['query']}\n  wanted {expected}\n  found  {results}")
    assert not different, "\n".join(different)
