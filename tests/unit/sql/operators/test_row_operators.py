"""Small operators on rows of tables: order, limits, final results, NOT NULL, event time of streams."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.expressions import BoundColumn
from funke.engine.sql.binding.relations import Column, Relation, Scan, SortKey
from funke.engine.sql.binding.subqueries.correlations import Correlation
from funke.engine.sql.operators.stream_columns import StreamColumns
from funke.engine.sql.plan.changelogs.constraint_enforcer import ConstraintEnforcer
from funke.engine.sql.plan.changelogs.final_rows import FinalRows
from funke.engine.sql.plan.node import PlanNode
from funke.engine.sql.plan.over.batch_over_aggregate import BatchOverAggregate
from funke.engine.sql.plan.ranks.limit import ExecLimit
from funke.engine.sql.plan.ranks.sort import BatchSort
from funke.engine.sql.table_rows import to_batches, to_rows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.data_types import DataTypes
from funke.table.udf import udtf
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.plan_nodes import factory_of, rows_of

COLUMNS = (Column("id", DataTypes.INT()), Column("name", DataTypes.STRING()))
INPUT = rows_of(COLUMNS)
Rows = list[tuple[Any, ...]]


def batch(*rows: tuple[Any, ...], kinds: str = "", timestamps: list[int] | None = None) -> ColumnBatch:
    """Rows with their kinds, one letter each: i, b (before), a (after), d."""
    (batch_,) = to_batches(COLUMNS, rows)
    row_kinds = np.array(["ibad".index(each) for each in kinds], np.int8) if kinds else None
    return ColumnBatch(batch_.data, None if timestamps is None else np.array(timestamps), row_kinds)


def results(create: Any, *batches: ColumnBatch, columns: tuple[Column, ...] = COLUMNS, cut: bool = False) -> Rows:
    """What an operator gives for batches and for their end; `cut` restarts it before the last one."""
    create = factory_of(create) if isinstance(create, Relation) else create
    harness = OperatorHarness(ColumnOperator(create), keeps_columns=True)
    for each in batches[:-1]:
        harness.operator.process_columns(each)
    received = harness.elements()
    if cut:
        harness = OperatorHarness(ColumnOperator(create), keeps_columns=True, restored=[harness.snapshot()])
    harness.operator.process_columns(batches[-1])
    harness.end_input()
    received += harness.elements()
    kept = (each for each in received if isinstance(each, ColumnBatch))
    return [tuple(row) for each in kept for row in to_rows(columns, each)]


@pytest.mark.parametrize("cut", [False, True])
def test_rows_are_sorted_when_all_have_come(cut: bool) -> None:
    one = batch((2, "b"), (None, "n"), (3, "a"))
    other = batch((2, "a"), (1, None))
    ascending = BatchSort(COLUMNS, INPUT, (SortKey(0), SortKey(1, is_ascending=False, nulls_first=False)))
    assert results(ascending, one, other, cut=cut) == [(None, "n"), (1, None), (2, "b"), (2, "a"), (3, "a")]
    last = BatchSort(COLUMNS, INPUT, (SortKey(0, is_ascending=False, nulls_first=False),), offset=1, limit=2)
    # Rows that are equal keep their order.
    assert results(last, one, other, cut=cut) == [(2, "b"), (2, "a")]


@pytest.mark.parametrize(
    ("is_ascending", "expected"),
    [(True, ["None", "-1.0", "2.0", "nan"]), (False, ["nan", "2.0", "-1.0", "None"])],
)
def test_nan_is_more_than_any_number(is_ascending: bool, expected: list[str]) -> None:
    columns = (Column("d", DataTypes.DOUBLE()),)
    (rows,) = to_batches(columns, [(2.0,), (None,), (float("nan"),), (-1.0,)])
    sort = BatchSort(columns, rows_of(columns), (SortKey(0, is_ascending, nulls_first=is_ascending),))
    assert [str(row[0]) for row in results(sort, rows, columns=columns)] == expected


@pytest.mark.parametrize("cut", [False, True])
def test_the_first_rows_pass(cut: bool) -> None:
    one, other = batch((1, "a"), (2, "b"), (3, "c")), batch((4, "d"), (5, "e"))
    assert results(ExecLimit(COLUMNS, INPUT, 1, 3), one, other, cut=cut) == [(2, "b"), (3, "c"), (4, "d")]
    assert results(ExecLimit(COLUMNS, INPUT, 4), one, other, cut=cut) == [(5, "e")]
    assert results(ExecLimit(COLUMNS, INPUT, 0, 0), one, other, cut=cut) == []


def test_rows_that_are_taken_back_cannot_be_counted() -> None:
    with pytest.raises(UnsupportedFeatureError, match="LIMIT on a table that changes"):
        results(ExecLimit(COLUMNS, INPUT, 0, 1), batch((1, "a"), (1, "a"), kinds="id"))


@pytest.mark.parametrize("cut", [False, True])
def test_what_changes_leave(cut: bool) -> None:
    one = batch((1, "a"), (2, "b"), (1, "a"), (1, "c"), kinds="iiba")
    other = batch((2, "b"), (3, "d"), (3, "d"), (3, "d"), kinds="diid")
    assert results(FinalRows(COLUMNS, INPUT), one, other, cut=cut) == [(1, "c"), (3, "d")]
    assert results(FinalRows(COLUMNS, INPUT), batch((1, "a"))) == [(1, "a")]
    otherwise = FinalRows(COLUMNS, INPUT, (0, None))
    assert results(otherwise, batch((1, "a"), (1, "a"), kinds="id")) == [(0, None)]


def test_a_null_where_there_must_be_a_value() -> None:
    rows = batch((1, "a"), (None, "b"))
    assert results(ConstraintEnforcer(COLUMNS, INPUT, (0,), True), rows) == [(1, "a")]
    with pytest.raises(TableException, match="Column 'id' is NOT NULL, however, a null value is being written into it"):
        results(ConstraintEnforcer(COLUMNS, INPUT, (0,), False), rows)


def test_event_time_becomes_a_column() -> None:
    columns = (Column("rt", DataTypes.TIMESTAMP_LTZ(3)), Column("id", DataTypes.BIGINT()))
    create = StreamColumns(columns, (None, 0))
    timestamp = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert results(create, batch((7, "a"), timestamps=[1000]), columns=columns) == [(timestamp, 7)]
    with pytest.raises(ValueError, match="Rowtime timestamp is not defined"):
        results(create, batch((7, "a")), columns=columns)


def test_rows_are_made_of_each_row() -> None:
    word = Column("word", DataTypes.STRING())
    name = BoundColumn(DataTypes.STRING(), 1, "name")
    split = udtf(_parts, result_types=[DataTypes.STRING()])._to_user_function()
    rows = batch((1, "a b"), (2, None), (3, "one"), kinds="iid")
    columns = (*COLUMNS, word)
    batch_ = factory_of(Correlation(columns, Scan(COLUMNS, None), split, (name,)))
    assert results(batch_, rows, columns=columns) == [(1, "a b", "a"), (1, "a b", "b"), (3, "one", "ONE")]
    kept = factory_of(Correlation(columns, Scan(COLUMNS, None), split, (name,), keeps_all=True))
    assert results(kept, rows, columns=columns)[2] == (2, None, None)


def _parts(text: str | None) -> Any:
    if text is None:
        return None
    return (part for part in text.split()) if " " in text else text.upper()


@pytest.mark.parametrize(
    "node",
    [
        FinalRows(COLUMNS, INPUT),
        BatchSort(COLUMNS, INPUT, (SortKey(0),)),
        BatchOverAggregate(COLUMNS, INPUT, (1,), (SortKey(0),), ()),
    ],
    ids=lambda node: type(node).__name__,
)
def test_what_the_end_gives_is_not_late(node: PlanNode) -> None:
    harness = OperatorHarness(ColumnOperator(factory_of(node)), keeps_columns=True)
    harness.operator.process_columns(batch((1, "a"), (2, "a")))
    harness.watermark(7)
    assert not harness.elements()
    # The last watermark comes before the end.
    harness.end_input()
    rows, watermark = harness.elements()
    assert (len(rows), watermark) == (2, Watermark(MAX_WATERMARK))
