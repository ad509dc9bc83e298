"""Random queries give on Funke what they gave on the reference, change by change.

`sql/record_queries.py` has recorded them over the tables that are in the golden file too.
"""

from __future__ import annotations

import datetime
import itertools
import re
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.time_attributes import TimeAttribute
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text
from tests.differential.sql.random_queries import COLUMNS, FAMILIES, LATEST
from tests.differential.sql.recorded_form import plain, read_lines
from tests.harness.sql_plans import SmallTable, changes_from, planned

TABLES, *RECORDED = read_lines("sql_queries.jsonl.gz")
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


SMALL_TABLES = {name: table(rows) for name, rows in TABLES["tables"].items()}


def says_nothing(entry: dict[str, Any]) -> bool:
    """What the reference cannot compute, or batches whose rows come in no order, say nothing."""
    is_unordered = entry["family"] == "batch" and re.search("(FIRST|LAST)_VALUE|LISTAGG|\\w+_?AGG", entry["query"])
    # There it puts texts into JSON without quotes.
    is_no_json = entry["family"] == "group window" and "JSON_" in entry["query"]
    return entry.get("x") in ("fails", "unreadable") or bool(is_unordered) or is_no_json


RECORDED = [each for each in RECORDED if not says_nothing(each)]


# Queries that the reference answers otherwise, and why.
KNOWN = {
    r"SELECT id, COUNT.* INTERSECT ALL": "the reference forgets columns that nobody reads, though they are compared",
    r"VAR_POP\(p\).*LATEST": "after a row is taken back the reference's variance of one decimal is NULL",
}


def outcome(entry: dict[str, Any], size: int) -> dict[str, Any]:
    """What comes out, in the form of the recording."""
    try:
        relation = planned(entry["query"], SMALL_TABLES, is_streaming=entry["family"] != "batch")
    except FunkeError as error:
        return {"x": "refused", "why": str(error)}
    found: dict[str, Any] = {"types": [to_sql_text(each.type) for each in relation.columns]}
    try:
        changes = changes_from(relation, size)
    except (FunkeError, ArithmeticError, ValueError) as error:
        return found | {"x": "fails", "why": str(error)}
    return found | {"changes": [[sign, [plain(each) for each in row]] for sign, row in changes]}


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


def difference(entry: dict[str, Any], size: int) -> str | None:
    if any(re.search(each, entry["query"].replace(LATEST, "LATEST")) for each in KNOWN):
        return None
    found = outcome(entry, size)
    wanted = {name: entry[name] for name in ("x", "types", "changes") if name in entry}
    if "changes" in wanted and "changes" in found:
        wanted["changes"] = comparable(entry, wanted["changes"])
        found["changes"] = comparable(entry, found["changes"])
    compared = {name: found.get(name) for name in wanted}
    return None if compared == wanted else f"{entry['query']}\n  wanted {wanted}\n  found  {found}"


@pytest.mark.parametrize("family", FAMILIES)
def test_changes_are_those_of_the_reference(family: str) -> None:
    entries = [each for each in RECORDED if each["family"] == family]
    # Rows come a few at a time, or all at once: it makes no difference.
    sizes = itertools.cycle([3, 3, 1000])
    different = [found for each in entries if (found := difference(each, next(sizes))) is not None]
    assert not different, "\n".join(different)
