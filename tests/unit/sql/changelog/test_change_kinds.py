"""Which changes queries emit, who needs UPDATE_BEFORE, and what sinks reject."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import TableException
from funke.engine.sql.binding.relations import Relation
from funke.engine.sql.plan.changelogs.changelog_mode import for_consumer, require_kinds
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS, INSERTS
from funke.engine.sql.plan.changelogs.upsert_keys import smallest_key
from funke.engine.sql.plan.node import as_node
from funke.engine.types.row import RowKind
from tests.harness.sql_changelogs import SIGNS, bound_query

UPSERTS = ALL_KINDS - {RowKind.UPDATE_BEFORE}
COUNTS = "SELECT k, COUNT(*) AS c FROM t GROUP BY k"


def query(text: str, has_changes: bool = False) -> Relation:
    return bound_query(text, has_changes=has_changes, k="INT", v="BIGINT")


def signs_of(relation: Relation) -> str:
    return " ".join(sign for sign, kind in SIGNS.items() if kind in as_node(relation).changelog())


@pytest.mark.parametrize(
    ("text", "has_changes", "to_all", "to_upserts"),
    [
        ("SELECT k FROM t WHERE v > 1", False, "+I", "+I"),
        (COUNTS, False, "+I -U +U", "+I +U"),
        (COUNTS, True, "+I -U +U -D", "+I +U -D"),
        ("SELECT DISTINCT k FROM t", False, "+I -U +U", "+I +U"),
        # What no longer passes a condition has to be taken back.
        (f"{COUNTS} HAVING COUNT(*) < 10", False, "+I -U +U", "+I -U +U"),
        # The outer aggregate takes back what the inner one has said before.
        (f"SELECT c, COUNT(*) FROM ({COUNTS}) GROUP BY c", False, "+I -U +U -D", "+I +U -D"),
        (f"{COUNTS} UNION ALL SELECT k, v FROM t", False, "+I -U +U", "+I +U"),
    ],
)
def test_kinds(text: str, has_changes: bool, to_all: str, to_upserts: str) -> None:
    relation = query(text, has_changes)
    assert signs_of(for_consumer(relation, ALL_KINDS)) == to_all
    assert signs_of(for_consumer(relation, UPSERTS)) == to_upserts


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (COUNTS, (0,)),
        ("SELECT COUNT(*) AS c, k FROM t GROUP BY k", (1,)),
        ("SELECT COUNT(*) FROM t GROUP BY k", None),
        ("SELECT COUNT(*) FROM t", ()),
        ("SELECT DISTINCT k, v FROM t", (0, 1)),
        ("SELECT k FROM t", None),
    ],
)
def test_keys_of_updates(text: str, key: tuple[int, ...] | None) -> None:
    assert smallest_key(as_node(query(text)).upsert_keys()) == key


def test_a_sink_that_takes_inserts_rejects_updates() -> None:
    with pytest.raises(TableException) as caught:
        require_kinds(query(COUNTS), INSERTS, "Table sink 'default_catalog.default_database.s'")
    assert str(caught.value) == (
        "Table sink 'default_catalog.default_database.s' doesn't support consuming update changes which is produced "
        "by node GroupAggregate(groupBy=[k], select=[k, COUNT(*) AS EXPR$0])"
    )
    with pytest.raises(TableException, match="consuming update and delete changes"):
        require_kinds(query(COUNTS, has_changes=True), INSERTS, "Table sink 's'")
    require_kinds(for_consumer(query(COUNTS), UPSERTS), UPSERTS, "Table sink 's'")
