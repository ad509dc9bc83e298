"""Set operations that count: a row is there as often as both sides, or one more than the other, have it."""

from __future__ import annotations

import pytest

from funke.engine.sql.binding.relations import Column
from funke.engine.types.logical.data_types import DataTypes
from tests.harness.sql_changelogs import folded
from tests.harness.sql_plans import SmallTable, changes_from, planned

COLUMNS = (Column("a", DataTypes.INT()), Column("b", DataTypes.STRING()))
LEFT = [(1, "x"), (1, "x"), (1, "x"), (2, "y"), (None, None), (None, None), (3, "z")]
RIGHT = [(1, "x"), (1, "x"), (2, "y"), (2, "y"), (None, None), (4, "w")]
TABLES = {"l": SmallTable(COLUMNS, LEFT), "r": SmallTable(COLUMNS, RIGHT)}


@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("operation", "rows"),
    [
        ("INTERSECT ALL", [(1, "x"), (1, "x"), (2, "y"), (None, None)]),
        ("EXCEPT ALL", [(1, "x"), (3, "z"), (None, None)]),
        ("INTERSECT", [(1, "x"), (2, "y"), (None, None)]),
        ("EXCEPT", [(3, "z")]),
    ],
)
def test_rows_are_counted(operation: str, rows: list[object], size: int, is_streaming: bool) -> None:
    plan = planned(f"SELECT a, b FROM l {operation} SELECT a, b FROM r", TABLES, is_streaming)
    assert folded(changes_from(plan, size)) == sorted(rows, key=repr)


def test_types_meet() -> None:
    plan = planned("SELECT a FROM l INTERSECT ALL SELECT CAST(a AS BIGINT) FROM r", TABLES)
    assert folded(changes_from(plan, 100)) == [(1,), (1,), (2,), (None,)]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_distinct_values_that_are_taken_back_in_another_batch(size: int) -> None:
    """A value that two rows have is still there when one of them goes."""
    rows = [(1, "x"), (2, "x"), (1, "y"), (2, "y")]
    tables = {"t": SmallTable(COLUMNS, rows)}
    text = "SELECT COUNT(DISTINCT b) FROM (SELECT a, LAST_VALUE(b) AS b FROM t GROUP BY a)"
    assert changes_from(planned(text, tables), size) == [
        ("+I", (1,)),
        ("-U", (1,)),
        ("+U", (2,)),
        ("-U", (2,)),
        ("+U", (1,)),
    ]
