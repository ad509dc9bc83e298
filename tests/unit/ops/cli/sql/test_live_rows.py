"""The live view's rows: what changes leave, each row in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.common import Row, RowKind
from funke.engine.errors import ConfigurationError
from funke.ops.cli.sql.live_rows import LiveRows
from funke.ops.cli.sql.shell_options import ShellOptions
from funke.table.results.result_content import left_rows

KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}


def change(kind: str, *values: object) -> Row:
    row = Row(*values)
    row.set_row_kind(KINDS[kind])
    return row


def rows_of(changes: list[Row], most: int = 100) -> list[tuple[object, ...]]:
    rows = LiveRows(most)
    for each in changes:
        rows.apply(each)
    assert len(rows) == len(rows.all())
    return [tuple(each) for each in rows.all()]


def test_an_update_keeps_its_row() -> None:
    changes = [change("+I", "a", 1), change("+I", "b", [1]), change("-U", "a", 1), change("+U", "a", 2)]
    assert rows_of(changes) == [("a", 2), ("b", [1])]
    assert rows_of([*changes, change("-D", "a", 2), change("+I", "a", 1)]) == [("b", [1]), ("a", 1)]


def test_an_update_without_what_it_updates_is_a_row() -> None:
    assert rows_of([change("-D", 1), change("+U", 2)]) == [(2,)]


def test_the_oldest_rows_go() -> None:
    assert rows_of([change("+I", number) for number in range(5)], most=2) == [(3,), (4,)]


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 3))))
def test_rows_are_those_that_changes_leave(changes: list[tuple[str, int]]) -> None:
    left = left_rows([change(*each) for each in changes])
    assert sorted(rows_of([change(*each) for each in changes], 1000)) == sorted(tuple(row) for row in left)


def test_a_mode_that_there_is_not() -> None:
    options = ShellOptions()
    with pytest.raises(ConfigurationError, match="Could not parse value 'films' for key"):
        options.set("sql-client.execution.result-mode", "films")
    assert options.mode == "TABLEAU"
