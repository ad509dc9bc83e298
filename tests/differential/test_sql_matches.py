"""Random patterns of rows give on Funke what they gave on the reference, in the same order for each key.

`sql/record_matches.py` has recorded them.
"""

from __future__ import annotations

import datetime

import pytest

from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.relations import Column
from funke.engine.types.logical.sql_text import from_sql_text
from tests.differential.sql.random_matches import COLUMNS
from tests.differential.sql.recorded_form import plain, read_lines
from tests.harness.sql_plans import SmallTable, changes_from, planned

FIRST, *ENTRIES = read_lines("sql_matches.jsonl.gz")
RECORDED = [each for each in ENTRIES if "rows" in each]


def table() -> SmallTable:
    columns = [
        Column(name, from_sql_text(each), TimeAttribute.ROWTIME if name == "ts" else None)
        for name, each in COLUMNS.items()
    ]
    rows = [
        tuple(datetime.datetime.fromisoformat(value) if name == "ts" else value for name, value in row.items())
        for row in FIRST["table"]
    ]
    return SmallTable(columns, rows)


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_matches_are_those_of_the_reference(number: int) -> None:
    entry = RECORDED[number]
    relation = planned(entry["query"], {"t": table()})
    rows = [[plain(value) for value in row] for _, row in changes_from(relation, 7)]
    for key in "xy":
        assert [row for row in rows if row[0] == key] == [row for row in entry["rows"] if row[0] == key], entry["query"]
