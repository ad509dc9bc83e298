"""Changes as rows, and rows as changes; what comes out was recorded with PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, Table, TableEnvironment
from funke.table.expressions import col, descriptor, map_
from tests.harness.local_jobs import changes_in


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture(scope="module")
def counts(t_env: TableEnvironment) -> Table:
    return t_env.sql_query("SELECT k, COUNT(*) AS c FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS t (k, v) GROUP BY k")


def changes(table: Table) -> list[Any]:
    return changes_in(planned_rows(table._t_env._session, table._relation), is_batch=False)


def test_changes_as_rows(counts: Table) -> None:
    table = counts.to_changelog()
    assert table.get_schema().get_field_names() == ["op", "k", "c"]
    assert changes(table) == [
        ("+I", ("INSERT", "a", 1)),
        ("+I", ("INSERT", "b", 1)),
        ("+I", ("UPDATE_BEFORE", "a", 1)),
        ("+I", ("UPDATE_AFTER", "a", 2)),
    ]


def test_kinds_by_other_names_and_without_some(counts: Table) -> None:
    mapping = map_("INSERT, UPDATE_AFTER", "false", "DELETE", "true").as_argument("op_mapping")
    table = counts.to_changelog(descriptor("deleted").as_argument("op"), mapping)
    assert table.get_schema().get_field_names()[0] == "deleted"
    assert [row for _, row in changes(table)] == [("false", "a", 1), ("false", "b", 1), ("false", "a", 2)]


def test_rows_as_changes(t_env: TableEnvironment) -> None:
    rows = [("INSERT", "a", 1), ("UPDATE_BEFORE", "a", 1), ("UPDATE_AFTER", "a", 3), ("DELETE", "a", 3)]
    table = t_env.from_elements(rows, ["op", "k", "v"]).from_changelog()
    assert changes(table) == [("+I", ("a", 1)), ("-U", ("a", 1)), ("+U", ("a", 3)), ("-D", ("a", 3))]
    summed = table.group_by(col("k")).select(col("k"), col("v").sum.alias("s"))
    assert changes(summed) == [("+I", ("a", 1)), ("-D", ("a", 1)), ("+I", ("a", 3)), ("-D", ("a", 3))]


def test_what_was_written_is_read_again(counts: Table) -> None:
    assert changes(counts.to_changelog().from_changelog()) == changes(counts)


def test_codes_of_ones_own(t_env: TableEnvironment) -> None:
    rows = t_env.from_elements([("a", 1, "c"), ("a", 1, "ub"), ("a", 3, "ua"), ("b", 1, "r")], ["k", "v", "o"])
    mapping = map_("c, r", "INSERT", "ub", "UPDATE_BEFORE", "ua", "UPDATE_AFTER").as_argument("op_mapping")
    sent = changes(rows.from_changelog(descriptor("o").as_argument("op"), mapping))
    assert sent == [("+I", ("a", 1)), ("-U", ("a", 1)), ("+U", ("a", 3)), ("+I", ("b", 1))]
    with pytest.raises(FunkeError, match=r"Received invalid op code 'c'. Defined op codes are: \[INSERT, "):
        changes(rows.from_changelog(descriptor("o").as_argument("op")))
