"""Joins of batches send the rows that the changes of a stream come to, once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.joins.regular_joins import JoinKind
from funke.engine.sql.operators.joins import batch_join, pair_condition
from funke.engine.sql.plan.joins.batch_join import BatchJoin
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import Change, batch_of, changes_of, folded
from tests.unit.sql.operators.joins.test_join import KINDS, LEFT, RIGHT, Model, cut, join_of

_ROW = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 3))
_ROWS = st.lists(st.tuples(st.integers(0, 1), _ROW))


def batch_join_of(kind: JoinKind, has_condition: bool) -> BatchJoin:
    join = join_of(kind, has_condition)
    return BatchJoin(join.columns, join.left, join.right, (0,), (0,), kind, join.condition)


@pytest.mark.parametrize("most_pairs", [2, 1 << 17])
@pytest.mark.parametrize("has_condition", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(rows=_ROWS, size=st.integers(1, 6), point=st.integers(0, 20))
def test_batches_have_the_last_rows_of_a_stream(
    kind: JoinKind, has_condition: bool, most_pairs: int, rows: list[tuple[int, Any]], size: int, point: int
) -> None:
    join, model = batch_join_of(kind, has_condition), Model(kind, has_condition)
    inserts: list[tuple[int, Change]] = [(side, ("+I", row)) for side, row in rows]
    changes = [change for side, insert in inserts for change in model.take(side, insert)]
    with pytest.MonkeyPatch.context() as patch:
        for module in (batch_join, pair_condition):
            patch.setattr(module, "MOST_PAIRS", most_pairs)
        given_rows = _sent(join, cut(inserts, [size]), point)
    assert {sign for sign, _ in given_rows} <= {"+I"}
    assert sorted((row for _, row in given_rows), key=repr) == sorted(folded(changes), key=repr)


def _sent(join: BatchJoin, batches: list[tuple[int, list[Change]]], point: int) -> list[Change]:
    """What comes of batches, with a restart between two of them."""
    state: Any = None
    for part in (batches[:point], batches[point:]):
        harness = OperatorHarness(ColumnOperator(join.detached().create), keeps_columns=True)
        if state is not None:
            harness.operator.restore(state)
        for side, batch in part:
            harness.operator.columns_handler(side)(batch_of(batch, (LEFT, RIGHT)[side]))
        state = harness.operator.snapshot()
        assert not harness.elements()
    harness.operator.end_input()
    return [change for batch in harness.elements() for change in changes_of(batch, join)]
