"""Group aggregates emit the changes that Flink emits, row by row; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.harness.sql_changelogs import Change, RunningQuery, bound_query, inserts

RECORDED = json.loads((Path(__file__).parent / "reference_changelogs.json").read_text())
COLUMNS = {
    "id": "INT",
    "k": "INT",
    "name": "STRING",
    "v": "INT",
    "d": "DOUBLE",
    "p": "DECIMAL(10, 2)",
    "b": "BIGINT",
}


def rows() -> list[tuple[Any, ...]]:
    return [(*row[:5], None if row[5] is None else Decimal(row[5]), row[6]) for row in RECORDED["rows"]]


def plain(value: Any) -> Any:
    """A value in the form of the recording."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {"map": sorted([[plain(key), plain(each)] for key, each in value.items()], key=repr)}
    return value


def recorded(changes: list[Change]) -> list[Any]:
    return [[sign, [plain(value) for value in row]] for sign, row in changes]


@pytest.mark.parametrize("case", RECORDED["queries"], ids=lambda case: case["query"].rpartition(") SELECT")[2][:60])
def test_changes_are_those_of_flink(case: dict[str, Any]) -> None:
    relation = bound_query(case["query"], **COLUMNS)
    assert [repr(column.type) for column in relation.columns] == case["types"]
    input_rows = inserts(rows())
    for size in (len(input_rows), 2):
        query = RunningQuery(relation)
        changes = [
            each for start in range(0, len(input_rows), size) for each in query.feed(input_rows[start : start + size])
        ]
        assert recorded(changes) == case["changes"]
