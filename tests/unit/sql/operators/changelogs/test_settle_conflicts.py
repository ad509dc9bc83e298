"""One row for each primary key, watermark by watermark; whole queries are in test_materialize.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.flink_exceptions import TableException
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from funke.engine.sql.binding.relations import Column, Scan
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import DataTypes
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import Change, batch_of, changes_of

COLUMNS = (Column("k", DataTypes.INT()), Column("name", DataTypes.STRING()), Column("d", DataTypes.DOUBLE()))
INPUT = rows_of(COLUMNS, ALL_KINDS)
BY_NAME = SinkMaterialize(COLUMNS, INPUT, (0,), (1,), strategy="nothing")
WHOLE = SinkMaterialize(COLUMNS, INPUT, (0,), strategy="nothing")
A, B, C = ((1, name, None) for name in "abc")


class Running:
    """One subtask, on a state backend, which may begin with the state of another."""

    def __init__(self, node: SinkMaterialize, backend: str = "hashmap", restored: list[bytes] | None = None) -> None:
        choice = choice_of(backend)
        self.harness = OperatorHarness(
            ColumnOperator(node.create), keeps_columns=True, backend=choice, restored=restored
        )

    def take(self, *changes: Change, at: int = MIN_WATERMARK) -> None:
        if changes:
            batch = batch_of(changes, COLUMNS)
            self.harness.operator.process_columns(batch.with_timestamps(np.full(len(batch), at, np.int64)))

    def reach(self, watermark: int) -> list[Change]:
        self.harness.operator.process_watermark(watermark)
        batches = [each for each in self.harness.elements() if isinstance(each, ColumnBatch)]
        return [each for batch in batches for each in changes_of(batch, Scan(COLUMNS, None))]

    def ended(self) -> list[bytes]:
        state = self.harness.snapshot()
        self.harness.close()
        return [state]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("+I", A)], [("+I", A)]),
        # The first one stays.
        ([("+I", A), ("+I", B)], [("+I", A)]),
        ([("+I", A), ("-D", A)], []),
        # A row that goes may be told before the same one comes.
        ([("-U", A), ("+I", B), ("+U", A)], [("+I", B)]),
        ([("-U", A)], []),
    ],
)
@pytest.mark.parametrize("node", [BY_NAME, WHOLE], ids=["by key", "whole rows"])
def test_what_comes_before_a_watermark(node: SinkMaterialize, changes: list[Change], message: list[Change]) -> None:
    running = Running(node)
    running.take(*changes)
    assert running.reach(10) == message
    running.ended()


def test_a_row_that_is_there_is_updated_kept_and_deleted() -> None:
    running, better = Running(BY_NAME), (1, "a", 2.0)
    running.take(("+I", A))
    assert running.reach(10) == [("+I", A)]
    running.take(("+I", A), ("-U", B), at=10)
    assert running.reach(20) == []
    running.take(("-U", A), ("+U", better), at=20)
    assert running.reach(30) == [("+U", better)]
    running.take(("+I", B), ("+I", C), at=30)
    assert running.reach(40) == []
    running.take(("-D", better), at=40)
    assert running.reach(50) == [("-D", better)]
    running.ended()


def test_rows_wait_for_the_watermark_behind_that_of_their_sender() -> None:
    running = Running(WHOLE)
    running.take(("+I", A), at=20)
    running.take(("+I", (2, "b", None)), at=10)
    assert running.reach(10) == []
    assert running.reach(20) == [("+I", (2, "b", None))]
    assert running.reach(21) == [("+I", A)]
    running.ended()


def test_a_conflict_fails_the_job_with_its_key() -> None:
    running = Running(replace(WHOLE, strategy="error"))
    running.take(("+I", A), ("+I", B))
    with pytest.raises(TableException, match=r"Conflicting key: \[k=1\]\. Use ON CONFLICT DO NOTHING to keep"):
        running.reach(10)
    running.ended()


ROWS = st.tuples(st.integers(1, 2), st.sampled_from([None, "a", "b"]), st.sampled_from([None, 0.5, float("nan")]))
CHANGES = st.lists(st.tuples(st.sampled_from(["+I", "-U", "+U", "-D"]), ROWS), max_size=10)


@pytest.mark.parametrize("node", [BY_NAME, WHOLE], ids=["by key", "whole rows"])
@settings(max_examples=15, deadline=None)
@given(parts=st.lists(CHANGES, max_size=3), cut=st.integers(0, 10))
def test_cuts_and_restarts_change_nothing(node: SinkMaterialize, parts: Sequence[list[Change]], cut: int) -> None:
    """Rows between two watermarks in one batch give what two batches give with a restart between them."""
    whole, cuts = Running(node), Running(node, "rocksdb")
    backends = ["hashmap", "rocksdb"] * 2
    for number, changes in enumerate(parts):
        at, watermark = number * 10 if number else MIN_WATERMARK, (number + 1) * 10
        whole.take(*changes, at=at)
        cuts.take(*changes[:cut], at=at)
        cuts = Running(node, backends[number], cuts.ended())
        cuts.take(*changes[cut:], at=MIN_WATERMARK)
        # Keys are told in any order.
        assert sorted(map(repr, cuts.reach(watermark))) == sorted(map(repr, whole.reach(watermark)))
    whole.ended()
    cuts.ended()


def test_rows_are_stamped_with_the_watermark() -> None:
    harness = OperatorHarness(ColumnOperator(BY_NAME.phases()[0].create), keeps_columns=True)
    times: list[Any] = []
    for watermark in (5, MAX_WATERMARK):
        harness.operator.process_columns(batch_of([("+I", A)], COLUMNS))
        harness.operator.process_watermark(watermark)
        times += [each.timestamps.tolist() for each in harness.elements() if isinstance(each, ColumnBatch)]
    assert times == [[MIN_WATERMARK], [5]]
    harness.close()
