"""What the stream graph of a plan says about state."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.errors import StateError
from funke.engine.graph.builder import GraphBuilder
from funke.engine.graph.state_meaning import StateMeaning, meaning_of, moves_between
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.plan.aggregates.group_aggregate import GroupAggregate
from funke.engine.sql.plan.to_graph import stream_of
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.restored_queries import FedTable
from tests.harness.sql_plans import planned


def meaning() -> StateMeaning:
    table = FedTable("t", (Column("k", from_sql_text("STRING")), Column("v", from_sql_text("INT"))))
    builder = GraphBuilder(Settings({"parallelism.default": 1}))
    stream_of(builder, planned("SELECT k, SUM(v) FROM t GROUP BY k", {"t": table}))  # type: ignore[dict-item]
    (results,) = [each for each in map(meaning_of, (node.operation for node in builder.graph.nodes.values())) if each]
    return results


def test_state_of_another_version_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    before = meaning()
    assert moves_between(before, meaning()) == {}
    monkeypatch.setattr(GroupAggregate, "state_version", 2)
    with pytest.raises(StateError, match="version of the state"):
        moves_between(before, meaning())
